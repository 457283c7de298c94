package locks

import (
	"slices"
	"testing"
	"time"
)

func TestGetDelDoesNotDeleteWhatItsGetTellsApart(t *testing.T) {
	ca, cb := newClient(t, 0), newClient(t, 1)
	a, b := newLock(t, "set-nx-ex-get-del", ca, time.Second), newLock(t, "set-nx-ex-get-del", cb, time.Second)
	lease := acquire(t, a)
	expireNow(t, ca, "k")
	acquire(t, b)
	got := wire(seen(t, func() {
		if err := a.Unlock(t.Context(), lease); err != ErrNotHeld {
			t.Errorf("got %v, want %v", err, ErrNotHeld)
		}
	}))
	if want := []string{"GET k"}; !slices.Equal(got, want) {
		t.Errorf("the node saw %q, want %q", got, want)
	}
}
