package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// refusing is a lock whose every attempt ends with the same error.
type refusing struct{ err error }

func (l refusing) TryLock(context.Context) (locks.Lease, error) {
	return locks.Lease{Token: "sent"}, l.err
}
func (l refusing) Unlock(context.Context, locks.Lease) error { return locks.ErrNotHeld }

func TestALockThatNobodyGetsHasNoFigures(t *testing.T) {
	for id, failure := range map[string]error{"always-busy": locks.ErrBusy, "always-unknown": errors.New("no reply")} {
		locks.Register(locks.Recipe{
			ID: id, Topology: locks.Single,
			Claims: func(ttl time.Duration, _ int) history.Claims {
				return history.Claims{Lock: id, Quorum: 1, TTL: ttl, Recovery: ttl}
			},
			New: func(*locks.Client) (locks.Maker, error) {
				return func(string, time.Duration) (locks.Lock, error) { return refusing{failure}, nil }, nil
			},
		})
		defer locks.Unregister(id)
		r, err := Run(t.Context(), sim.New(), small(t, id), nil)
		if err != nil || len(r.Locks) != 2 {
			t.Fatalf("%s: %d locks, %v", id, len(r.Locks), err)
		}
		l := r.Locks[1]
		if l.Acquires != 0 || l.Waits != 0 || len(l.Violated) > 0 {
			t.Errorf("%s: %d acquires, %d waits, violated %v; want none", id, l.Acquires, l.Waits, l.Violated)
		}
		if !slices.Equal(l.Undecided, []string{"liveness"}) {
			t.Errorf("%s: undecided is %v, want liveness", id, l.Undecided)
		}
		for name, f := range l.Figures {
			switch {
			case name == "acquisitionsPerSecond":
				if f.Value == nil || *f.Value != 0 {
					t.Errorf("%s: %s is %+v, want 0", id, name, f)
				}
			case f.Value != nil || f.Ratio != nil || f.Note != "not measured":
				t.Errorf("%s: %s is %+v, want not measured", id, name, f)
			}
		}
	}
}

// Verdicts of the oracle named "draws" are not noted: that oracle judges the clients' program, not
// the lock.
func TestViolatedAndUndecidedOraclesAreNotedOnce(t *testing.T) {
	verdict := func(oracle string, r checker.Result) checker.Verdict {
		return checker.Verdict{Oracle: oracle, Result: r}
	}
	tests := map[string]struct {
		trials              [][]checker.Verdict
		violated, undecided []string
	}{
		"no trial": {},
		"all hold": {trials: [][]checker.Verdict{{verdict("exclusion", checker.Held), verdict("liveness", checker.Held)}}},
		"none decides": {
			trials:    [][]checker.Verdict{{verdict("exclusion", checker.Unknown), verdict("liveness", checker.Unknown)}},
			undecided: []string{"exclusion", "liveness"},
		},
		"twice the same": {
			trials: [][]checker.Verdict{
				{verdict("exclusion", checker.Violated), verdict("liveness", checker.Unknown)},
				{verdict("exclusion", checker.Violated), verdict("liveness", checker.Unknown)},
			},
			violated: []string{"exclusion"}, undecided: []string{"liveness"},
		},
		"one trial cannot tell, one shows it": {
			trials:   [][]checker.Verdict{{verdict("exclusion", checker.Unknown)}, {verdict("exclusion", checker.Violated)}},
			violated: []string{"exclusion"}, undecided: []string{"exclusion"},
		},
		"the program's own": {trials: [][]checker.Verdict{{verdict("draws", checker.Violated)}, {verdict("draws", checker.Unknown)}}},
	}
	for name, test := range tests {
		var m subject
		for _, verdicts := range test.trials {
			m.note(verdicts)
		}
		if !slices.Equal(m.violated, test.violated) || !slices.Equal(m.undecided, test.undecided) {
			t.Errorf("%s: violated %v, undecided %v; want %v, %v", name, m.violated, m.undecided, test.violated, test.undecided)
		}
	}
}
