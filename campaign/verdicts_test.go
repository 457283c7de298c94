package campaign

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// has says whether an oracle of the trial has the result r.
func has(t trial.Result, r checker.Result) bool {
	return slices.ContainsFunc(t.Verdicts, func(v checker.Verdict) bool { return v.Result == r })
}

func TestCheckersThatDisagreeFailTheRun(t *testing.T) {
	for _, fault := range []string{undisturbed, "delay"} {
		d := trial.Done{Trial: found(fault, 0, 1, trialtest.Verdict("exclusion", checker.Held))}
		d.Judge(t.Context(), locks.Recipe{}, history.Evidence{}, fmt.Errorf("on lock %q: %w", "lock-0", checker.ErrDisagree))
		if d.Trial.Err == "" || d.Trial.Outcome != trial.Unknown {
			t.Errorf("under %s: outcome %s, error %q; want %s with an error", fault, d.Trial.Outcome, d.Trial.Err, trial.Unknown)
		}
		m := fold(Info{Plan: []PlannedCell{{Lock: "test-flawed", Fault: fault}}}, "", []trial.Result{d.Trial})
		for _, expect := range []bool{false, true} {
			if got := m.ExitCode(expect); got != ExitHarness {
				t.Errorf("under %s, expect %v: exit code %d, want %d", fault, expect, got, ExitHarness)
			}
		}
	}
}
