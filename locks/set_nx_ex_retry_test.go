package locks

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestARepeatedSetIsRefusedByItself(t *testing.T) {
	c := newClient(t, 0)
	l := newLock(t, "set-nx-ex-retry", c, time.Minute)
	loseReply(c, 1)
	var lease Lease
	var err error
	got := wire(seen(t, func() { lease, err = l.TryLock(t.Context()) }))
	if !errors.Is(err, ErrBusy) || !errors.Is(err, ErrPresumed) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want ErrBusy, presumed for the lost reply", err)
	}
	if _, err := newLock(t, "set-nx-ex-retry", newClient(t, 1), time.Minute).TryLock(t.Context()); err != ErrBusy {
		t.Errorf("another's attempt, answered at once: got %v, want %v", err, ErrBusy)
	}
	set := "SET k $token EX 60 NX"
	if want := withToken([]string{set, set}, lease.Token); !slices.Equal(got, want) {
		t.Errorf("the node saw %q, want %q", got, want)
	}
	if holds := values(t, c)[0]; holds != lease.Token {
		t.Errorf("the key holds %q, want the token of the refused attempt, %q", holds, lease.Token)
	}
}

func TestARepeatedReleaseFindsNothing(t *testing.T) {
	c := newClient(t, 0)
	loadScripts(t, c, compareAndDelete)
	l := newLock(t, "set-nx-ex-retry", c, time.Minute)
	lease := acquire(t, l)
	loseReply(c, 1)
	if err := l.Unlock(t.Context(), lease); !errors.Is(err, ErrNotHeld) {
		t.Errorf("got %v, want ErrNotHeld", err)
	}
	acquire(t, l)
}

func TestACallIsRepeatedOnceAndOnlyAfterAConnectionError(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		calls int
	}{
		{"none", nil, 1},
		{"busy", ErrBusy, 1},
		{"not held", ErrNotHeld, 1},
		{"an error that Redis answered", redis.ErrCrossSlot, 1},
		{"no connection", &net.OpError{Op: "dial", Err: errors.New("refused")}, 1},
		{"connection lost", io.EOF, 2},
		{"a time limit", &net.OpError{Op: "read", Err: errors.New("i/o timeout")}, 2},
	} {
		calls := 0
		err := execute(t.Context(), func() error { calls++; return tt.err })
		if calls != tt.calls || err != tt.err {
			t.Errorf("%s: %d calls and %v, want %d and %v", tt.name, calls, err, tt.calls, tt.err)
		}
	}
}
