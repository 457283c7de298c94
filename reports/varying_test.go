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
	m := campaign.Matrix{Varying: []campaign.Varying{v}, Cells: []campaign.Cell{{Lock: "theirs", Fault: "none", Verdict: trial.Holds, Varies: true}}}
	page, err := htmlReport(result{Matrix: m}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if tested := (result{Matrix: m, Info: campaign.Info{Deterministic: true}}).testbedWords(); !strings.HasSuffix(tested, "byte for byte, but those of theirs") {
		t.Errorf("what was tested promises %q", tested)
	}
	for name, got := range map[string]string{
		"terminal": terminal(m, registries(), Screen{}),
		"markdown": string(summaryReport(result{Matrix: m})),
		"html":     string(page),
	} {
		if !strings.Contains(got, "theirs is not replayable byte for byte: trial 0 under none (mutex), run again, differs first in history, entry 4, time") {
			t.Errorf("%s does not say so", name)
		}
	}
}
