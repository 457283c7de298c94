package locks

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// reentrantLocal is D3's reentrant lock in Java: Redis knows one token, and the owner's
// own memory counts its entries. The flaw: re-entry never asks Redis. After the key has
// expired, the owner "re-enters" a lock that another holds.
//
// TryLock returns ErrBusy after an error too (ErrPresumed). Unlock returns ErrRefused without
// an entry, and else nil, whatever Redis replied.
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
	reenteredUnasked("client-pause", "slow-work"), leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// reenteredUnasked: the owner re-enters what another holds. Under outlasting faults its lease
// is over by then.
func reenteredUnasked(outlasting ...string) []Flaw {
	return flaws(
		under(outlasting, "lease-outlived", Bug,
			"Re-entry counts in the client's memory and never asks Redis: after the key has expired, the owner re-enters a lock that another holds.",
			"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy"),
		// While there are two primaries, no hold is certain enough to prove a re-entry wrong.
		// Just after they have become one, another client's hold may be.
		may([]string{"node-restart", "split-brain"}, under([]string{"failover", "eviction"}, "server-lost-key", Bug,
			"Re-entry counts in the client's memory and never asks Redis: after the node has lost the key, the owner re-enters a lock that another holds.",
			"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy")),
		under([]string{"node-clock"}, "server-clock", Bug,
			"Re-entry counts in the client's memory and never asks Redis: after the key has expired by a node's wrong clock, the owner re-enters a lock that another holds.",
			"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy"),
	)
}

// localLock is a handle on one of a client process's locks.
type localLock struct {
	*localLocks
	key    string
	ttl    time.Duration
	renews bool // the first entry begins to renew
}

// TryLock implements Lock. LostC is nil: the owner is never told.
func (l localLock) TryLock(ctx context.Context) (Lease, error) {
	return l.lock(ctx, l.key, l.ttl, l.renews)
}

// Unlock implements Lock. Without an entry it is refused, even if Redis still has the
// owner's key (a grant whose reply was lost).
func (l localLock) Unlock(ctx context.Context, lease Lease) error {
	return l.unLock(ctx, l.key, lease.Token)
}

// localLocks is D3's RedisDistributedLock: all locks of one client process, which is one
// owner. As its methods are synchronized, only one call runs at a time, for whichever key,
// and the others wait for as long as Redis takes to answer it.
type localLocks struct {
	client  *Client
	renewal *boundedRenewal
	// calls has room for the one call that may run. A waiting call is not interrupted. It is no
	// sync.Mutex, because a virtual clock does not advance while a goroutine waits for one.
	calls chan struct{}
	holds map[string]localHold // by key
}

func newLocalLocks(c *Client) (*localLocks, error) {
	renewal, err := newBoundedRenewal(c)
	return &localLocks{client: c, renewal: renewal, calls: make(chan struct{}, 1), holds: map[string]localHold{}}, err
}

type localHold struct {
	count int
	token string // given to Redis at the first entry
}

// synchronized begins a call. The caller calls end when it is done.
func (a *localLocks) synchronized() (end func()) {
	a.calls <- struct{}{}
	return func() { <-a.calls }
}

// lock adds an entry if this process holds the lock already. Otherwise it acquires the lock
// in Redis and, if renew is set, starts to renew it.
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

// unLock counts one entry less. The last entry is removed before the release is sent, and
// regardless of its result. Its release stops all renewals of the client process.
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
