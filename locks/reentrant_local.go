package locks

import (
	"context"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// reentrantLocal is D3's reentrant lock in Java: Redis knows one token, and the owner's
// own memory counts its entries. The flaw: re-entry never asks Redis. After the key has
// expired, the owner "re-enters" a lock that another holds.
//
// ErrNotHeld if the last release finds no key or another's token; ErrRefused for a
// release without an entry.
type reentrantLocal struct {
	client *Client
	key    string
	ttl    time.Duration
	holds  *localHolds
	renews bool
}

func init() {
	Register(Recipe{
		ID:       "reentrant-local",
		Document: "D3",
		Summary:  "entered before: count+1, else SET key token EX s NX · count-1, at 0 Lua: compare and delete · when asked: as set-nx-ex-bounded-renewal",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			claims := oneNodeClaims("reentrant-local", ttl, wholeSeconds(ttl), compareAndDelete, compareAndExpire)
			claims.Reentrant = true
			return claims
		},
		Flaws: reentrantLocalFlaws,
		New: withState(newLocalHolds, func(c *Client, h *localHolds, key string, ttl time.Duration) (Lock, error) {
			return &reentrantLocal{client: c, key: key, ttl: ttl, holds: h}, nil
		}),
	})
}

var reentrantLocalFlaws = flaws(
	under([]string{"client-pause"}, "lease-outlived", Bug,
		"Re-entry counts in the client's memory and never asks Redis: after the key has expired the owner re-enters what another holds.",
		"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy"),
	// Between two primaries no hold is so certain that re-entry would be wrong; just
	// after they have become one, another's hold may be.
	may([]string{"node-restart", "split-brain"}, under([]string{"failover", "eviction"}, "server-lost-key", Bug,
		"Re-entry counts in the client's memory and never asks Redis: after the node has lost the key the owner re-enters what another holds.",
		"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy")),
	under([]string{"node-clock"}, "server-clock", Bug,
		"Re-entry counts in the client's memory and never asks Redis: after the key has expired by a node's wrong clock the owner re-enters what another holds.",
		"D3, reentrant lock: a count greater than zero is all that is asked", "reentrancy"),
	leaseOutlived(), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// localHolds counts the entries of one owner, the client process, per key.
type localHolds struct {
	renewal *boundedRenewal

	mu    sync.Mutex
	byKey map[string]localHold
}

func newLocalHolds(c *Client) (*localHolds, error) {
	return &localHolds{renewal: &boundedRenewal{client: c}, byKey: map[string]localHold{}}, nil
}

type localHold struct {
	count int
	token string // given to Redis at the first entry
}

// TryLock implements Lock. LostC is nil: the owner is never told.
func (l *reentrantLocal) TryLock(ctx context.Context) (Lease, error) {
	if token, ok := l.holds.reenter(l.key); ok {
		return Lease{Token: token}, nil
	}
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease := Lease{Token: token}
	if err := setIfAbsent(ctx, l.client.Nodes[0], l.key, token, "EX", seconds(l.ttl), "NX"); err != nil {
		return lease, err
	}
	l.holds.enter(l.key, token)
	if l.renews {
		l.holds.renewal.start(l.key, token, l.ttl)
	}
	return lease, nil
}

// Unlock implements Lock. Without an entry it is refused, even if Redis still has the
// owner's key (a grant whose reply was lost). The last entry is removed before the
// release is sent, and regardless of its result.
func (l *reentrantLocal) Unlock(ctx context.Context, lease Lease) error {
	left, ok := l.holds.leave(l.key)
	switch {
	case !ok:
		return ErrRefused
	case left > 0:
		return nil
	}
	if l.renews {
		l.holds.renewal.stop()
	}
	return releaseOwned(ctx, l.client.Nodes[0], l.key, lease.Token)
}

// Renewing returns the same lock, renewed like set-nx-ex-bounded-renewal, from the
// first entry through it until the last release through it.
func (l *reentrantLocal) Renewing() Lock {
	renewing := *l
	renewing.renews = true
	return &renewing
}

// reenter counts one more entry if there is one, ignoring the caller's token.
func (h *localHolds) reenter(key string) (token string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hold, ok := h.byKey[key]
	if !ok {
		return "", false
	}
	hold.count++
	h.byKey[key] = hold
	return hold.token, true
}

// enter notes the first entry.
func (h *localHolds) enter(key, token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byKey[key] = localHold{count: 1, token: token}
}

// leave counts one entry less and returns how many are left; ok is false if there was
// none.
func (h *localHolds) leave(key string) (left int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hold, ok := h.byKey[key]
	if !ok {
		return 0, false
	}
	hold.count--
	if hold.count == 0 {
		delete(h.byKey, key)
	} else {
		h.byKey[key] = hold
	}
	return hold.count, true
}
