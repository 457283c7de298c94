package locktest

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/trial"
)

// A fault was not tested if no trial under it decides for or against the lock.
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

// A test fails if its trials under faults ran and none was decided. It does not fail if the faults cannot
// strike, or if they only hit nothing and the fault-free trials were decided.
func TestATestThatDecidesNothingFails(t *testing.T) {
	undecided := FaultResult{Fault: "delay", Trials: 3, Undecided: 3, NotTested: "no trial could be decided"}
	missed := FaultResult{Fault: "eviction", Trials: 2, NotTested: "the fault hit nothing"}
	lacking := FaultResult{Fault: "script-flush", NotTested: "it ran no scripts"}
	undisturbed, held := FaultResult{Fault: "none", Trials: 4}, FaultResult{Fault: "reset", Trials: 3}
	for name, test := range map[string]struct {
		faults []FaultResult
		fails  bool
	}{
		"undecided":                     {[]FaultResult{undecided, lacking}, true},
		"undecided, none held":          {[]FaultResult{undisturbed, undecided}, true},
		"undecided, and the rest cut":   {[]FaultResult{undecided, {Fault: "reset", CutOff: 3}}, true},
		"hit nothing":                   {[]FaultResult{missed}, true},
		"hit nothing, none held":        {[]FaultResult{undisturbed, missed}, false},
		"cannot strike":                 {[]FaultResult{lacking}, false},
		"another held":                  {[]FaultResult{undecided, held}, false},
		"none only":                     {[]FaultResult{undisturbed}, false},
		"none only, and it was unknown": {[]FaultResult{{Fault: "none", Trials: 4, Undecided: 4, NotTested: "no trial could be decided"}}, true},
	} {
		r := &Result{}
		for _, f := range test.faults {
			r.add(f)
		}
		err := r.Err()
		if (err != nil) != test.fails || err != nil && !strings.Contains(err.Error(), "no trial was decided under any fault") {
			t.Errorf("%s: got %v, want failure: %t", name, err, test.fails)
		}
	}
}
