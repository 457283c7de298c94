package locks

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// reentrantLocal is D3's reentrant lock in Java: Redis has one token, and the owner's own memory
// counts its entries. The flaw: re-entry never asks Redis. After the key has expired, the owner
// "re-enters" a lock that another holds.
//
// TryLock returns ErrBusy after an error too (then also ErrPresumed). Unlock returns ErrRefused if
// the owner has no entry. Otherwise it returns nil, whatever Redis replied.
type reentrantLocal struct{ localLock }

func init() {
	Register(Recipe{
		ID:       "reentrant-local",
		Document: "D3",
		Summary:  "entered before: count+1, else SET key token EX s NX · count-1, at 0 Lua: compare and delete",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			claims := oneNodeClaims("reentrant-local", ttl, wholeSeconds(ttl), compareAndDelete)
			claims.Reentrant = true
			return claims
		},
		Flaws: reentrantLocalFlaws,
		New: withState(newLocalLocks, func(_ *Client, all *localLocks, key string, ttl time.Duration) (Lock, error) {
			return &reentrantLocal{localLock{all, key, ttl, false}}, nil
		}),
	})
}

var reentrantLocalFlaws = flaws(
	reenteredLocally("client-pause", "slow-work"), leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// reenteredLocally returns the flaws of an owner that re-enters a lock without asking Redis, while
// another holds the lock. Under the faults in outlasting, the owner's lease is over by the time of
// the re-entry.
func reenteredLocally(outlasting ...string) []Flaw {
	return flaws(
		under(outlasting, "lease-outlived", Bug,
			"Re-entry counts in the client's memory and never asks Redis: after the key has expired, the owner re-enters a lock that another holds.",
			"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy"),
		// Under split-brain the flaw need not show: while there are two primaries, the checker does not
		// know who holds the lock, and calls no re-entry wrong. Just after the second has appeared, it
		// may still know.
		may([]string{"node-restart", "split-brain"}, under([]string{"failover", "eviction"}, "server-lost-key", Bug,
			"Re-entry counts in the client's memory and never asks Redis: after the node has lost the key, the owner re-enters a lock that another holds.",
			"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy")),
		under([]string{"node-clock"}, "server-clock", Bug,
			"Re-entry counts in the client's memory and never asks Redis: after the key has expired by a node's wrong clock, the owner re-enters a lock that another holds.",
			"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy"),
	)
}

// localLock is a handle on one lock of a client process.
type localLock struct {
	*localLocks
	key    string
	ttl    time.Duration
	renews bool // the first entry starts the renewal
}

// TryLock implements Lock. LostC is nil: nothing reports the loss of the lock to the owner.
func (l localLock) TryLock(ctx context.Context) (Lease, error) {
	return l.lock(ctx, l.key, l.ttl, l.renews)
}

// Unlock implements Lock. Without an entry it returns ErrRefused, even if Redis still has the
// owner's key (after a grant whose reply was lost).
func (l localLock) Unlock(ctx context.Context, lease Lease) error {
	return l.unLock(ctx, l.key, lease.Token)
}

// localLocks is D3's RedisDistributedLock: all locks of one client process, which is one owner. Its
// methods are synchronized: only one call runs at a time, whatever its key. All other calls wait
// until Redis has answered the running call.
type localLocks struct {
	client  *Client
	renewal *boundedRenewal
	// calls has room for one element, which the running call puts in and takes out. Nothing
	// interrupts a waiting call. A sync.Mutex would not do, because a virtual clock stands still
	// while a goroutine waits for a Mutex.
	calls chan struct{}
	holds map[string]localHold // by key
}

func newLocalLocks(c *Client) (*localLocks, error) {
	renewal, err := newBoundedRenewal(c)
	return &localLocks{client: c, renewal: renewal, calls: make(chan struct{}, 1), holds: map[string]localHold{}}, err
}

// localHold is an owner's hold on one lock, as the owner remembers it.
type localHold struct {
	count int
	token string // sent to Redis at the first entry
}

// synchronized begins a call. The caller calls end when the call is done.
func (a *localLocks) synchronized() (end func()) {
	a.calls <- struct{}{}
	return func() { <-a.calls }
}

// lock adds an entry if this process already holds the lock. Otherwise it acquires the lock in
// Redis and, if renew is set, starts the renewal.
func (a *localLocks) lock(ctx context.Context, key string, ttl time.Duration, renew bool) (Lease, error) {
	defer a.synchronized()()
	if hold, ok := a.holds[key]; ok {
		hold.count++
		a.holds[key] = hold
		return Lease{Token: hold.token}, nil
	}
	token, err := a.client.Token()
	if err != nil {
		return Lease{}, err
	}
	if err := setOrBusy(ctx, a.client.Nodes[0], key, token, ttl); err != nil {
		return Lease{Token: token}, err
	}
	a.holds[key] = localHold{count: 1, token: token}
	if renew {
		a.renewal.start(key, token, ttl)
	}
	return Lease{Token: token}, nil
}

// unLock removes one entry from the count. At the last entry it removes the hold, stops all renewals
// of the client process, for other locks too, and sends the release. It ignores the release's
// result.
func (a *localLocks) unLock(ctx context.Context, key, token string) error {
	defer a.synchronized()()
	hold, ok := a.holds[key]
	if !ok {
		return ErrRefused
	}
	if hold.count--; hold.count > 0 {
		a.holds[key] = hold
		return nil
	}
	delete(a.holds, key)
	a.renewal.stop()
	releaseRegardless(ctx, a.client.Nodes[0], key, token)
	return nil
}
