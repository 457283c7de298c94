package locks

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestRedlockDriftSendsWhatRedlockSends(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	loadScripts(t, c, compareAndDelete)
	l := newLock(t, "redlock-drift", c, redlockLease)
	for n := range fiveNodes {
		var lease Lease
		got := wire(seenOn(t, n, func() {
			lease = acquire(t, l)
			if err := l.Unlock(t.Context(), lease); err != nil {
				t.Error(err)
			}
		}))
		want := []string{"SET k $token NX PX 60000", "EVALSHA compare-and-delete 1 k $token", "lua GET k", "lua DEL k"}
		if want = withToken(want, lease.Token); !slices.Equal(got, want) {
			t.Errorf("node %d saw\n%q, want\n%q", n, got, want)
		}
	}
}

func TestRedlockDriftOfALeaseShorterThanTheDriftIsNeverHeld(t *testing.T) {
	c := newClientOn(t, 0, fiveNodes)
	if _, err := newLock(t, "redlock-drift", c, 2*time.Millisecond).TryLock(t.Context()); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
}

func TestOnlyDelayedRestartAsksNodesToStayAway(t *testing.T) {
	for _, r := range All() {
		want := time.Duration(0)
		if r.ID == "redlock-delayed-restart" {
			want = 1500 * time.Millisecond
		}
		if got := r.Claims(1500*time.Millisecond, fiveNodes).Away; got != want {
			t.Errorf("%s: nodes stay away for %v, want %v", r.ID, got, want)
		}
	}
}
