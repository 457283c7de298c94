package campaign

import (
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

func TestAFlawIsMissedForTooFewTrialsOnlyWhereVariantsWereLeftOut(t *testing.T) {
	under := func(fault string) trial.Result { return trial.Result{Spec: trial.Spec{Lock: "a", Fault: fault}} }
	s := Stored{
		Info: Info{Config: Config{Trials: 2}, Plan: []PlannedCell{
			{Lock: "a", Fault: "delay", Variants: 3}, {Lock: "a", Fault: "reset", Variants: 2}, {Lock: "b", Fault: "reset", Variants: 9},
		}},
		Trials: []trial.Result{under("delay"), under("delay"), under("reset"), under("reset"), under("none")},
	}
	for faults, want := range map[string]int{"delay": 2, "reset": 0, "delay,reset": 4, "none": 0} {
		if got := s.TooFew(Discrepancy{Lock: "a", Fault: faults}); got != want {
			t.Errorf("under %s: %d trials were too few, want %d", faults, got, want)
		}
	}
}
