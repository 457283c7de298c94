package check

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// Like stories and timelines, check describes a finding of the violated oracle with the most direct
// harm.
func TestCheckTellsTheMostDirectHarm(t *testing.T) {
	all := append(checker.Oracles(), checker.OracleNamed(checker.LinearizableName))
	for _, a := range all {
		for _, b := range all {
			if a.Rank >= b.Rank {
				continue
			}
			result := trial.Result{}
			for _, name := range []string{b.Name, a.Name} {
				result.Verdicts = append(result.Verdicts, checker.Verdict{Oracle: name, Result: checker.Violated, Findings: []checker.Finding{{Cause: checker.Unclassified}}})
			}
			if got := CounterexampleOf(result, history.Evidence{}); got.Oracle != a.Name {
				t.Errorf("of %s and %s: got %s", a.Name, b.Name, got.Oracle)
			}
		}
	}
}
