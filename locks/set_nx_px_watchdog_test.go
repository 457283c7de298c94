package locks

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

func dogOf(l Lock, lease Lease) *watchdog {
	w := &l.(*setNXPXWatchdog).dogs
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[lease.Token]
}

func TestWatchdogSendsAPlainExpireInWholeSeconds(t *testing.T) {
	c := newClient(t, 0)
	l := newLock(t, "set-nx-px-watchdog", c, 600*time.Millisecond)
	acquire(t, l)
	got := wire(seen(t, func() {
		eventually(t, "the key lives beyond its lease", func() bool { return c.Nodes[0].PTTL(t.Context(), "k").Val() > 600*time.Millisecond })
	}))
	if !slices.Contains(got, "EXPIRE k 1") {
		t.Errorf("the node saw %q, want EXPIRE k 1", got)
	}
}

func TestWatchdogEndsForGoodAt(t *testing.T) {
	tests := []struct {
		name string
		prep func(c *Client)
		then func(t *testing.T, c *Client)
	}{
		{"its first error", func(c *Client) { failing(c, "EXPIRE", func(n int) bool { return n == 1 }) }, func(*testing.T, *Client) {}},
		{"a missing key", func(*Client) {}, func(t *testing.T, c *Client) { expireNow(t, c, "k") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, 0)
			tt.prep(c)
			l := newLock(t, "set-nx-px-watchdog", c, 60*time.Millisecond)
			lease := acquire(t, l)
			dog := dogOf(l, lease)
			tt.then(t, c)
			eventually(t, "the watchdog ended", func() bool { return !dog.alive() })
			if lease.Lost() != nil {
				t.Error("the holder would be told")
			}
		})
	}
}

func TestWatchdogIsStoppedAfterTheReleaseWhateverCameOfIt(t *testing.T) {
	for _, lost := range []bool{false, true} {
		c := newClient(t, 0)
		l := newLock(t, "set-nx-px-watchdog", c, time.Minute)
		lease := acquire(t, l)
		dog := dogOf(l, lease)
		during := false
		before(c, "EVALSHA", func() { during = dog.alive() })
		if lost {
			failing(c, "compare-and-delete", func(int) bool { return true })
		}
		if err := l.Unlock(t.Context(), lease); errors.Is(err, errConnectionLost) != lost {
			t.Errorf("release: %v", err)
		}
		if !during || dog.alive() {
			t.Errorf("release lost %t: the watchdog lives during the release: %t, and after it: %t", lost, during, dog.alive())
		}
		expireNow(t, newClient(t, 1), "k")
	}
}

func TestLeaseOutlivesTheCallThatTookIt(t *testing.T) {
	c := newClient(t, 0)
	l := newLock(t, "set-nx-px-watchdog", c, 600*time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	lease, err := l.TryLock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	eventually(t, "the key was renewed", func() bool { return life(t, c, "k") > 600*time.Millisecond })
	if !dogOf(l, lease).alive() {
		t.Error("the watchdog ended with the acquiring call")
	}
}
