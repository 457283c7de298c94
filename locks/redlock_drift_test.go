package locks

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestRedlockDriftIsHeldByAMajorityUntilTheDriftIsOff(t *testing.T) {
	for _, recipe := range []string{"redlock-drift", "redlock-delayed-restart"} {
		for taken := range fiveNodes + 1 {
			t.Run(fmt.Sprintf("%s, %d of 5 nodes are another's", recipe, taken), func(t *testing.T) {
				c := newClientOn(t, 0, fiveNodes)
				foreign(t, c, taken)
				before := time.Now()
				lease, err := newLock(t, recipe, c, redlockLease).TryLock(t.Context())
				if taken > 2 {
					if !errors.Is(err, ErrBusy) || !lease.Deadline.IsZero() {
						t.Errorf("got deadline %v, %v, want ErrBusy", lease.Deadline, err)
					}
					if got := values(t, c); slices.Contains(got, lease.Token) {
						t.Errorf("the nodes still hold %q", got)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				// The lease of one minute less the drift: a hundredth of the lease and 2 ms.
				if least, most := before.Add(59398*time.Millisecond), time.Now().Add(59398*time.Millisecond); lease.Deadline.Before(least) || lease.Deadline.After(most) {
					t.Errorf("deadline %v, want %v to %v", lease.Deadline, least, most)
				}
			})
		}
	}
}

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
