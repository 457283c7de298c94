package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

func TestReportsTellThatTheMachineStalled(t *testing.T) {
	r := sampleResult(t)
	for _, stall := range []time.Duration{0, 123880 * time.Microsecond} {
		r.Trials[0].Stall = stall
		want := fmt.Sprintf("he machine stalled in 1 of %d trials, longest 123.9 ms; their doubtful violations do not count", len(r.Trials))
		all := formats(t, r)
		for _, format := range []string{"html", "md"} {
			if text := all[format]; strings.Contains(text, want) != (stall > 0) {
				t.Errorf("%s: with a stall of %v, contains %q: %v", format, stall, want, stall == 0)
			}
		}
	}
}

func TestUndecidedTrialsCanBeLookedAt(t *testing.T) {
	r := result{
		Matrix: campaign.Matrix{Store: "store/demo", Cells: []campaign.Cell{{
			Lock: "rw-hash-owners", Fault: "partition", Verdict: trial.Holds, Trials: 26, Exercised: 24, Undecided: 2,
			UndecidedWhy: "liveness: c0 never got into lock-0", UndecidedDir: "trials/a/b/mutex-2",
		}}},
	}
	const again = "lockstorm replay store/demo/trials/a/b/mutex-2"
	all := formats(t, r)
	for _, want := range []string{again, "lockstorm check store/demo/trials/a/b/mutex-2", "run it again"} {
		if !strings.Contains(all["html"], want) {
			t.Errorf("HTML lacks %q", want)
		}
	}
	if !strings.Contains(all["md"], again) {
		t.Errorf("Markdown lacks %q", again)
	}
}
