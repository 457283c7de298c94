package story

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/reports/internal/reporttest"
)

func TestAdviceOnARaceAcrossTwoPrimariesIsNoAtomicStep(t *testing.T) {
	for _, c := range []struct {
		name         string
		sample       reporttest.Trial
		want, refuse string
	}{
		{"two primaries", reporttest.SplitInTwo(t), "min-replicas-to-write", "one atomic step"},
		{"one node", reporttest.Evicted(t), "one atomic step", "min-replicas-to-write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.sample.Verdicts {
				for j := range c.sample.Verdicts[i].Findings {
					c.sample.Verdicts[i].Findings[j].Cause = checker.Race
				}
			}
			f, ok := FocusOn(trialOf(c.sample))
			if !ok {
				t.Fatal("no finding to tell")
			}
			got := strings.Join(Tell(f).Prevented, "\n")
			if !strings.Contains(got, c.want) || strings.Contains(got, c.refuse) {
				t.Errorf("got advice\n%s\nwant some with %q and none with %q", got, c.want, c.refuse)
			}
		})
	}
}
