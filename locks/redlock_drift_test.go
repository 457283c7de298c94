package locks

import (
	"errors"
	"testing"
	"time"
)

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
