package reports

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

func TestALockThatIsNotReplayableByteForByteIsNamed(t *testing.T) {
	v := campaign.Varying{
		Lock: "theirs", Fault: "none", Workload: "mutex", Trial: "trial 0", Dir: "trials/a", Again: "trials/a-again",
		Difference: history.Difference{Log: "history", Entry: 4, Field: "time", First: "1ms", Second: "2ms"},
	}
	r := result{Glossary: registries(), Matrix: campaign.Matrix{
		Varying: []campaign.Varying{v}, Cells: []campaign.Cell{{Lock: "theirs", Fault: "none", Verdict: trial.Holds, Varies: true}},
	}}
	all := formats(t, r)
	delete(all, "junit")
	for name, got := range all {
		if !strings.Contains(got, "theirs is not replayable byte for byte: trial 0 under none (mutex), run again, differs first in history, entry 4, time") {
			t.Errorf("%s does not say so", name)
		}
	}
	r.Info.Deterministic = true
	if tested := r.testbedWords(); !strings.HasSuffix(tested, "byte for byte, but those of theirs") {
		t.Errorf("what was tested promises %q", tested)
	}
}
