package locks

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestReusedMutexRenewsItsFirstLeaseOnlyAndPanicsAtItsSecondRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newVirtualNode()
		l := newLock(t, "set-nx-px-watchdog-reused", virtualClient(t, n), time.Second)
		first := acquire(t, l)
		time.Sleep(2500 * time.Millisecond)
		if got := n.count("EXPIRE"); got != 7 {
			t.Errorf("the first lease was renewed %d times in 2.5 leases, want every third of one: 7", got)
		}
		if err := l.Unlock(t.Context(), first); err != nil {
			t.Fatalf("first release: %v", err)
		}
		second := acquire(t, l)
		time.Sleep(2500 * time.Millisecond)
		if got := n.count("EXPIRE"); got != 7 {
			t.Errorf("the second lease was renewed %d times, want never", got-7)
		}
		if n.holds("k") != "" {
			t.Error("the second lease's key still stands")
		}
		if !panics(func() { _ = l.Unlock(t.Context(), second) }) {
			t.Error("second release: no panic")
		}
		if got := n.count("compare-and-delete"); got != 2 {
			t.Errorf("%d releases were sent, want 2: the channel is closed after the release", got)
		}
	})
}

func TestMutexWithAWatchdogHearsOfEveryReleaseAsASuccess(t *testing.T) {
	for _, recipe := range []string{"set-nx-px-watchdog", "set-nx-px-watchdog-reused"} {
		for name, spoil := range map[string]func(c *Client){
			"the key is gone":      func(c *Client) { expireNow(t, c, "k") },
			"the key is another's": func(c *Client) { c.Nodes[0].Set(t.Context(), "k", "another's", time.Minute) },
		} {
			c := newClient(t, 0)
			l := newLock(t, recipe, c, time.Minute)
			lease := acquire(t, l)
			spoil(c)
			if err := l.Unlock(t.Context(), lease); err != nil {
				t.Errorf("%s: %s: release: got %v, want nil", recipe, name, err)
			}
			expireNow(t, c, "k")
		}
		c := newClient(t, 0)
		l := newLock(t, recipe, c, time.Minute)
		lease := acquire(t, l)
		failing(c, "compare-and-delete", func(int) bool { return true })
		if err := l.Unlock(t.Context(), lease); !errors.Is(err, errConnectionLost) {
			t.Errorf("%s: a release without a reply: got %v, want the connection's error", recipe, err)
		}
		expireNow(t, c, "k")
	}
}
