package reports

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
)

func TestAdviceOnARaceAcrossTwoPrimariesIsNoAtomicStep(t *testing.T) {
	for _, c := range []struct {
		name         string
		sample       handmade
		want, refuse string
	}{
		{"two primaries", splitInTwo(t), "min-replicas-to-write", "one atomic step"},
		{"one node", evicted(t), "one atomic step", "min-replicas-to-write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.sample.Verdicts {
				for j := range c.sample.Verdicts[i].Findings {
					c.sample.Verdicts[i].Findings[j].Cause = checker.Race
				}
			}
			f, ok := focusOn(subjectOf(c.sample))
			if !ok {
				t.Fatal("no finding to tell")
			}
			got := strings.Join(tellStory(f).Prevented, "\n")
			if !strings.Contains(got, c.want) || strings.Contains(got, c.refuse) {
				t.Errorf("got advice\n%s\nwant some with %q and none with %q", got, c.want, c.refuse)
			}
		})
	}
}
