package workloads_test

import (
	"slices"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
)

// At whatever moment the context of an attempt ends, the trial repeats itself exactly. Some outcomes
// are recorded as unknown, others as busy.
func TestCancelledAttemptsAreReplayedAndTheirOutcomesAreHonest(t *testing.T) {
	for _, lock := range []string{"set-nx-px", "setnx-expire", "getset", "redisson", "redlock-naive", "reentrant-hash-watchdog"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			unknown, busy := 0, 0
			for seed := range uint64(4) {
				s := spec(lock, "cancel", seed)
				if lock == "redlock-naive" {
					s.Topology, s.Nodes = "independent", 5
				}
				e := run(t, s)
				if history.Hash(e) != history.Hash(run(t, s)) {
					t.Errorf("seed %d: another history", seed)
				}
				for _, op := range e.Ops {
					switch {
					case op.F != history.FAcquire:
					case op.Type == history.Info:
						unknown++
					case op.Type == history.Fail && op.Reason == history.Busy:
						busy++
					}
				}
			}
			// redlock-naive takes every error for a refusal, so that none of its outcomes is unknown.
			if unknown == 0 && lock != "redlock-naive" || busy == 0 {
				t.Errorf("%d attempts of unknown outcome, %d refused: want some of each", unknown, busy)
			}
		})
	}
}

// If an attempt of setnx-expire ends between its two commands, the key has no TTL. set-nx-px has
// one command: the key that it leaves expires with its lease.
func TestAnAttemptThatIsCancelledHalfWayLeavesItsKey(t *testing.T) {
	forEver := map[string]bool{"setnx-expire": false, "set-nx-px": false}
	for lock := range forEver {
		left := 0
		for seed := range uint64(8) {
			e := run(t, spec(lock, "cancel", seed))
			left += progress.Measure(e).Leftovers
			forEver[lock] = forEver[lock] || slices.ContainsFunc(said(t, e, "liveness").Findings, func(f checker.Finding) bool { return f.Forever })
		}
		if left == 0 {
			t.Errorf("%s: attempts left no key in 8 trials", lock)
		}
	}
	if !forEver["setnx-expire"] || forEver["set-nx-px"] {
		t.Errorf("blocked for ever: %v, want setnx-expire alone", forEver)
	}
}
