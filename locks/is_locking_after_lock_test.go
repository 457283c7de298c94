package locks

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestIsLockingFindsAGrantWhoseReplyWasLostAndUnLockRefusesIt(t *testing.T) {
	c := newClient(t, 0)
	l := newLock(t, "is-locking-after-lock", c, time.Minute)
	loseReply(c, 1)
	var lease Lease
	got := wire(seen(t, func() { lease = acquire(t, l) }))
	if want := withToken([]string{"SET k $token EX 60 NX", "GET k"}, lease.Token); !slices.Equal(got, want) {
		t.Errorf("the node saw %q, want %q", got, want)
	}
	got = wire(seen(t, func() {
		if err := l.Unlock(t.Context(), lease); !errors.Is(err, ErrRefused) {
			t.Errorf("release: got %v, want ErrRefused", err)
		}
	}))
	if len(got) > 0 {
		t.Errorf("the refused release sent %q", got)
	}
	if holds := values(t, c)[0]; holds != lease.Token {
		t.Errorf("the key holds %q, want the lease's token, %q", holds, lease.Token)
	}
}

func TestIsLockingIsAskedAfterEveryNo(t *testing.T) {
	ca, cb := newClient(t, 0), newClient(t, 1)
	a, b := newLock(t, "is-locking-after-lock", ca, time.Minute), newLock(t, "is-locking-after-lock", cb, time.Minute)
	got := wire(seen(t, func() { acquire(t, a) }))
	if len(got) != 1 {
		t.Errorf("an acquire of a free lock sent %q, want the SET alone", got)
	}
	got = wire(seen(t, func() {
		if _, err := b.TryLock(t.Context()); err != ErrBusy {
			t.Errorf("another's lock: got %v, want ErrBusy", err)
		}
	}))
	if len(got) != 2 || got[1] != "GET k" {
		t.Errorf("a refused acquire sent %q, want SET and GET", got)
	}
	failing(cb, "SET", func(int) bool { return true })
	if _, err := b.TryLock(t.Context()); !errors.Is(err, ErrBusy) || !errors.Is(err, ErrPresumed) || !errors.Is(err, errConnectionLost) {
		t.Errorf("no answer to the SET, and another's value: got %v, want ErrBusy, presumed for a lost connection", err)
	}
	cb = newClient(t, 1)
	b = newLock(t, "is-locking-after-lock", cb, time.Minute)
	loseReply(cb, 2)
	if _, err := b.TryLock(t.Context()); err == nil || errors.Is(err, ErrBusy) {
		t.Errorf("no answer to the GET either: got %v, want unknown", err)
	}
}
