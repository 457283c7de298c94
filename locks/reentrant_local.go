package locks

import (
	"context"

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
		Claims:   claims("reentrant-local", wholeSeconds, history.Claims{Reentrant: true}, compareAndDelete),
		Flaws:    reentrantLocalFlaws,
		New:      withState(newLocalLocks, func(h handle, all *localLocks) Lock { return &reentrantLocal{localLock{h, all, false}} }),
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
	handle
	*localLocks
	renews bool // the first entry starts the renewal
}

// TryLock implements Lock: it adds an entry if this process already holds the lock. Otherwise it acquires
// the lock in Redis. LostC is nil: nothing reports the loss of the lock to the owner.
func (l localLock) TryLock(ctx context.Context) (Lease, error) {
	defer l.synchronized()()
	if hold, ok := l.holds[l.key]; ok {
		hold.count++
		l.holds[l.key] = hold
		return Lease{Token: hold.token}, nil
	}
	return l.withToken(func(token string) error {
		if err := setOrBusy(ctx, l.node(), l.key, token, l.ttl); err != nil {
			return err
		}
		l.holds[l.key] = localHold{count: 1, token: token}
		if l.renews {
			l.renewal.start(l.key, token, l.ttl)
		}
		return nil
	})
}

// Unlock implements Lock: it removes one entry from the count. At the last entry it removes the hold, stops
// all renewals of the client process, for other locks too, and sends the release, whose result it ignores.
// Without an entry it returns ErrRefused, even if Redis still has the owner's key (after a grant whose
// reply was lost).
func (l localLock) Unlock(ctx context.Context, lease Lease) error {
	defer l.synchronized()()
	hold, ok := l.holds[l.key]
	if !ok {
		return ErrRefused
	}
	if hold.count--; hold.count > 0 {
		l.holds[l.key] = hold
		return nil
	}
	delete(l.holds, l.key)
	l.renewal.stop()
	releaseRegardless(ctx, l.node(), l.key, lease.Token)
	return nil
}

// localLocks is D3's RedisDistributedLock: all locks of one client process, which is one owner. Its
// methods are synchronized: only one call runs at a time, whatever its key. All other calls wait
// until Redis has answered the running call.
type localLocks struct {
	renewal *boundedRenewal
	// calls has room for one element, which the running call puts in and takes out. Nothing
	// interrupts a waiting call. A sync.Mutex would not do, because a virtual clock stands still
	// while a goroutine waits for a Mutex.
	calls chan struct{}
	holds map[string]localHold // by key
}

func newLocalLocks(c *Client) (*localLocks, error) {
	renewal, err := newBoundedRenewal(c)
	return &localLocks{renewal: renewal, calls: make(chan struct{}, 1), holds: map[string]localHold{}}, err
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
