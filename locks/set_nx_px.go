package locks

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// setNXPX is the standard lock on one node, in D0, D2 and D3: a unique value for each
// attempt, key and expiry in one command, and a release that compares and deletes in
// one step. What remains are limits of every lease on one node: a holder that overruns,
// a node that forgets.
//
// Unlock returns ErrNotHeld if it finds no key or another's token: it keeps the result of
// the script, which is the same in all three documents. The Unlock of D0 and the unLock of
// D3 drop it, as set-nx-px-watchdog and set-nx-ex-bounded-renewal do.
type setNXPX struct {
	client *Client
	key    string
	ttl    time.Duration
}

func init() {
	Register(Recipe{
		ID:       "set-nx-px",
		Document: "D0, D2, D3",
		Summary:  "SET key token NX PX ms · Lua: compare and delete",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			return oneNodeClaims("set-nx-px", ttl, wholeMilliseconds(ttl), compareAndDelete)
		},
		Flaws: flaws(leaseOutlived(), workOutlived("D0, D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey()),
		New: onOneNode(func(c *Client, key string, ttl time.Duration) (Lock, error) {
			return &setNXPX{c, key, ttl}, nil
		}),
	})
}

// TryLock implements Lock.
func (l *setNXPX) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	return l.TryLockWith(ctx, token)
}

// TryLockWith implements TokenLocker: D3's caller passes its request's id.
func (l *setNXPX) TryLockWith(ctx context.Context, token string) (Lease, error) {
	return Lease{Token: token}, setIfAbsent(ctx, l.client.Nodes[0], l.key, token, "NX", "PX", milliseconds(l.ttl))
}

// Unlock implements Lock.
func (l *setNXPX) Unlock(ctx context.Context, lease Lease) error {
	return releaseOwned(ctx, l.client.Nodes[0], l.key, lease.Token)
}
