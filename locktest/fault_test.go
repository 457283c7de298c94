package locktest

import (
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// A fault under which no trial decides for or against the lock was not tested.
func TestAFaultIsTestedOnlyIfATrialDecides(t *testing.T) {
	for name, test := range map[string]struct {
		outcomes []trial.Outcome
		want     string
	}{
		"held":                       {[]trial.Outcome{trial.Holds}, ""},
		"held once":                  {[]trial.Outcome{trial.Unknown, trial.NotExercised, trial.Holds}, ""},
		"limits":                     {[]trial.Outcome{trial.Violated}, ""},
		"undecided":                  {[]trial.Outcome{trial.Unknown, trial.Unknown}, "no trial could be decided"},
		"undecided or not exercised": {[]trial.Outcome{trial.NotExercised, trial.Unknown}, "no trial could be decided"},
		"not exercised":              {[]trial.Outcome{trial.NotExercised, trial.NotSupported}, "the fault hit nothing"},
		"no trials":                  {nil, ""},
	} {
		var trials []trial.Result
		for _, o := range test.outcomes {
			trials = append(trials, trial.Result{Outcome: o})
		}
		var f FaultResult
		if f.fold(trials); f.NotTested != test.want {
			t.Errorf("%s: not tested is %q, want %q", name, f.NotTested, test.want)
		}
	}
}
