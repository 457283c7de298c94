package locks

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// takeoverRivals lets a holder leave its key behind, with a lease that ends 1 s after the fixed clock.
// It returns the handles a and b of two rivals, and a's client ca. The argument later is how far the
// rivals' clocks are ahead of the fixed clock.
func takeoverRivals(t *testing.T, later time.Duration) (ca *Client, a, b Lock) {
	holder := newClient(t, 0)
	holder.Now = fixedClock
	acquire(t, newLock(t, "setnx-takeover-del", holder, time.Second))
	rivals := [2]*Client{newClient(t, 1), newClient(t, 2)}
	for _, c := range rivals {
		c.Now = func() time.Time { return clock.Add(later) }
	}
	return rivals[0], newLock(t, "setnx-takeover-del", rivals[0], time.Second), newLock(t, "setnx-takeover-del", rivals[1], time.Second)
}

func TestTakeoverDelTakesOverWhenTheStoredTimeIsPast(t *testing.T) {
	ca, a, _ := takeoverRivals(t, time.Second)
	if _, err := a.TryLock(t.Context()); err != ErrBusy {
		t.Errorf("at the stored time: got %v, want %v", err, ErrBusy)
	}
	expireNow(t, ca, "k")
	_, a, _ = takeoverRivals(t, time.Second+time.Millisecond)
	got := wire(seen(t, func() { acquire(t, a) }))
	want := []string{"SETNX k 1002001", "GET k", "DEL k", "SETNX k 1002001"}
	if !slices.Equal(got, want) {
		t.Errorf("past the stored time: the node saw %q, want %q", got, want)
	}
}

func TestTakeoverDelIsBusyIfTheKeyIsReleasedMeanwhile(t *testing.T) {
	ca, a, _ := takeoverRivals(t, 2*time.Second)
	before(ca, "GET", func() { expireNow(t, ca, "k") })
	if _, err := a.TryLock(t.Context()); err != ErrBusy {
		t.Errorf("got %v, want %v", err, ErrBusy)
	}
}

func TestTakeoverDelTellsAKeyThatHoldsNoTime(t *testing.T) {
	c := newClient(t, 0)
	if err := c.Nodes[0].Set(t.Context(), "k", "no time", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := newLock(t, "setnx-takeover-del", c, time.Second).TryLock(t.Context())
	if err == nil || errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want an error that names the value", err)
	}
}
