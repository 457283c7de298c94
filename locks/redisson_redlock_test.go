package locks

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

// entered returns the number of nodes whose hash of the lock has this owner.
func entered(t *testing.T, c *Client, owner string) (n int) {
	t.Helper()
	for _, node := range c.Nodes {
		if node.HExists(t.Context(), "k", owner).Val() {
			n++
		}
	}
	return n
}

func TestRedissonRedlockIsHeldByAMajority(t *testing.T) {
	for taken := range fiveNodes + 1 {
		t.Run(fmt.Sprintf("%d of 5 nodes are another's", taken), func(t *testing.T) {
			c := newClientOn(t, 0, fiveNodes)
			for _, node := range c.Nodes[:taken] {
				if err := node.HSet(t.Context(), "k", "another", 1).Err(); err != nil {
					t.Fatal(err)
				}
			}
			l := newLock(t, "redisson-redlock", c, redlockLease)
			lease, err := l.TryLock(t.Context())
			held, want := taken <= 2, 0
			if held {
				want = fiveNodes - taken
			}
			if held && err != nil || !held && !errors.Is(err, ErrBusy) {
				t.Errorf("got %v, want held %t", err, held)
			}
			if got := entered(t, c, lease.Token); got != want || !lease.Deadline.IsZero() {
				t.Errorf("%d nodes have the owner, want %d; deadline %v, want none", got, want, lease.Deadline)
			}
			if err := l.Unlock(t.Context(), lease); err != nil || entered(t, c, lease.Token) != 0 {
				t.Errorf("release: %v, %d nodes still have the owner", err, entered(t, c, lease.Token))
			}
			if got := entered(t, c, "another"); got != taken {
				t.Errorf("another is left on %d nodes, want %d", got, taken)
			}
		})
	}
}

func TestRedissonRedlockSetsTheLeaseWithoutAskingWhoseKeyItIs(t *testing.T) {
	c := newClientOn(t, 0, 3)
	loadScripts(t, c, redissonEnter, redissonExpire)
	calls := 0
	failing(c, "redisson-expire", func(int) bool {
		if calls++; calls == 1 {
			if err := c.Nodes[0].Del(t.Context(), "k").Err(); err != nil {
				t.Error(err)
			}
			if err := c.Nodes[0].HSet(t.Context(), "k", "another", 1).Err(); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	if _, err := newLock(t, "redisson-redlock", c, redlockLease).TryLock(t.Context()); err != nil {
		t.Errorf("got %v, want held: the library does not look at the reply", err)
	}
	if got := life(t, c, "k"); got <= 0 || calls != 1 || entered(t, c, "another") != 1 {
		t.Errorf("after %d PEXPIREs the other's key lives for %v, want the lease of who lost it", calls, got)
	}
}

func TestRedissonRedlockWaitsForARelease(t *testing.T) {
	ca, cb := newClientOn(t, 0, 3), newClientOn(t, 1, 3)
	a, b := newLock(t, "redisson-redlock", ca, redlockLease), newLock(t, "redisson-redlock", cb, 2*time.Second)
	lease := acquire(t, a)
	result := waiting(t, t.Context(), b)
	subscribed(t, ca)
	if err := a.Unlock(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if err := result(); err != nil {
		t.Errorf("waiter: %v", err)
	}
}
