package locks

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// getsetAt makes client i's getset handle with a lease time of 1 s. The argument ahead is how far the
// client's wall clock is ahead of the fixed clock.
func getsetAt(t *testing.T, i int, ahead time.Duration) (*Client, Lock) {
	c := newClient(t, i)
	c.Now = func() time.Time { return clock.Add(ahead) }
	return c, newLock(t, "getset", c, time.Second)
}

func TestGetsetTakesOverOnlyWhatIsStrictlyOlder(t *testing.T) {
	_, holder := getsetAt(t, 0, 0)
	acquire(t, holder)
	_, equal := getsetAt(t, 1, 2*time.Second)
	if _, err := equal.TryLock(t.Context()); err != ErrBusy {
		t.Errorf("at TTL + 1 s: got %v, want %v", err, ErrBusy)
	}
	_, later := getsetAt(t, 2, 2*time.Second+time.Millisecond)
	got := wire(seen(t, func() { acquire(t, later) }))
	mine := encodeMillis(1_004_001)
	want := []string{"SETNX k " + mine, "GET k", "GETSET k " + mine, "EXPIRE k 1"}
	if !slices.Equal(got, want) {
		t.Errorf("later: the node saw %q, want %q", got, want)
	}
}

func TestGetsetTellsAKeyThatHoldsNoTime(t *testing.T) {
	c, l := getsetAt(t, 0, 0)
	if err := c.Nodes[0].Set(t.Context(), "k", "no time", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.TryLock(t.Context()); err == nil || errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want an error that names the value", err)
	}
}
