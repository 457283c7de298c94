package locks

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// reentrantOnHash lists the recipes that count an owner's entries in a hash.
var reentrantOnHash = []string{"reentrant-hash", "reentrant-hash-watchdog", "redisson", "redisson-lease"}

// entries returns the owner's number of entries in the lock "k"; 0 if the owner has none.
func entries(t *testing.T, c *Client, owner string) int {
	t.Helper()
	n, err := c.Nodes[0].Do(t.Context(), "HSTRLEN", "k", owner).Int()
	if err != nil || n == 0 {
		return 0
	}
	if n, err = c.Nodes[0].Do(t.Context(), "HGET", "k", owner).Int(); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNAcquiresNeedNReleases(t *testing.T) {
	for _, recipe := range reentrantOnHash {
		t.Run(recipe, func(t *testing.T) {
			c := newClient(t, 0)
			mine := handles(t, recipe, c, time.Minute, 2) // both belong to one owner
			other := newLock(t, recipe, newClient(t, 1), time.Minute)
			var lease Lease
			for n := 1; n <= 3; n++ {
				lease = acquire(t, mine[n%2])
				if got := entries(t, c, lease.Token); got != n {
					t.Errorf("after %d acquires the count is %d", n, got)
				}
			}
			for n := 2; n >= 0; n-- {
				if _, err := other.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
					t.Errorf("another's acquire while %d are open: got %v, want ErrBusy", n+1, err)
				}
				if err := mine[n%2].Unlock(t.Context(), lease); err != nil {
					t.Errorf("release: %v", err)
				}
				if got := entries(t, c, lease.Token); got != n {
					t.Errorf("the count is %d, want %d", got, n)
				}
			}
			if err := mine[0].Unlock(t.Context(), lease); !errors.Is(err, ErrNotHeld) {
				t.Errorf("release once too often: got %v, want ErrNotHeld", err)
			}
			acquire(t, other)
			if err := mine[0].Unlock(t.Context(), lease); !errors.Is(err, ErrNotHeld) {
				t.Errorf("release of what another holds: got %v, want ErrNotHeld", err)
			}
		})
	}
}

func TestPartialReleaseRenewsTheLifeInRedissonOnly(t *testing.T) {
	for _, recipe := range reentrantOnHash {
		c := newClient(t, 0)
		l := newLock(t, recipe, c, time.Minute)
		acquire(t, l)
		lease := acquire(t, l)
		shorten(t, c, "k", time.Second)
		if err := l.Unlock(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
		if got, want := life(t, c, "k") > time.Second, strings.HasPrefix(recipe, "redisson"); got != want {
			t.Errorf("%s: a partial release renews the life: %t, want %t", recipe, got, want)
		}
		expireNow(t, c, "k")
	}
}

func TestALostReplyAndARetryCountTwice(t *testing.T) {
	for _, recipe := range reentrantOnHash {
		c := newClient(t, 0)
		loadScripts(t, c, hashEnter, redissonEnter)
		l := newLock(t, recipe, c, time.Minute)
		loseReply(c, 1)
		unknown, err := l.TryLock(t.Context())
		checkUnknown(t, err)
		if got := acquire(t, l); got.Token != unknown.Token || entries(t, c, got.Token) != 2 {
			t.Errorf("%s: token %q after %q, count %d, want the same owner counted twice", recipe, got.Token, unknown.Token, entries(t, c, got.Token))
		}
		expireNow(t, newClient(t, 1), "k")
	}
}

func TestReentryAfterExpiryIsBusyWhereRedisIsAsked(t *testing.T) {
	for _, recipe := range reentrantOnHash {
		c := newClient(t, 0)
		l := newLock(t, recipe, c, time.Minute)
		acquire(t, l)
		expireNow(t, c, "k")
		acquire(t, newLock(t, recipe, newClient(t, 1), time.Minute))
		if _, err := l.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: re-entry of what another holds: got %v, want ErrBusy", recipe, err)
		}
		expireNow(t, c, "k")
	}
}

func TestOwnersOfOneNameAreDifferentOwners(t *testing.T) {
	for _, recipe := range reentrantOnHash {
		acquire(t, newLock(t, recipe, newClient(t, 0), time.Minute))
		restarted := newLock(t, recipe, newClient(t, 0), time.Minute)
		if _, err := restarted.TryLock(t.Context()); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: a restarted process of the same name: got %v, want ErrBusy", recipe, err)
		}
		expireNow(t, newClient(t, 1), "k")
	}
}
