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

func TestGetsetLoserRewritesTheWinnersTimeAndClearsItsLife(t *testing.T) {
	_, holder := getsetAt(t, 0, 0)
	acquire(t, holder)
	cw, winner := getsetAt(t, 1, 3*time.Second)
	cl, loser := getsetAt(t, 2, 4*time.Second)
	before(cl, "GETSET", func() { acquire(t, winner) })
	if _, err := loser.TryLock(t.Context()); err != ErrBusy {
		t.Errorf("the loser: got %v, want %v", err, ErrBusy)
	}
	value, err := cw.Nodes[0].Get(t.Context(), "k").Result()
	if err != nil {
		t.Fatal(err)
	}
	if until, err := decodeMillis(value); err != nil || until != 1_006_000 {
		t.Errorf("the winner's key holds %d (%v), want the loser's 1006000", until, err)
	}
	if got := life(t, cw, "k"); got != -1 {
		t.Errorf("the winner's key lives for %v, want no TTL", got)
	}
}

func TestGetsetLoserOfAReleasedKeyLeavesOneBehind(t *testing.T) {
	_, holder := getsetAt(t, 0, 0)
	lease := acquire(t, holder)
	cl, loser := getsetAt(t, 1, 3*time.Second)
	before(cl, "GETSET", func() {
		if err := holder.Unlock(t.Context(), lease); err != nil {
			t.Errorf("release: %v", err)
		}
	})
	if _, err := loser.TryLock(t.Context()); err != ErrBusy {
		t.Errorf("got %v, want %v: the reply is not the time that was found", err, ErrBusy)
	}
	if got := life(t, cl, "k"); got != -1 {
		t.Errorf("the key lives for %v, want one without a life and without an owner", got)
	}
}

func TestGetsetIsRobbedAfterAPauseBehindReadingTheClock(t *testing.T) {
	c := newClient(t, 0)
	now := clock
	c.Now = func() time.Time { return now }
	l := newLock(t, "getset", c, time.Second)
	before(c, "SETNX", func() { now = now.Add(3 * time.Second) })
	acquire(t, l)
	_, rival := getsetAt(t, 1, 3*time.Second)
	acquire(t, rival) // succeeds although l's lease has just begun: that is the flaw
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
