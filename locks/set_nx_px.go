package locks

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// setNXPX is the standard lock on one node, in D0, D2 and D3: each attempt has a unique value, one
// command sets key and expiry, and the release compares and deletes in one step. It has only the
// limits of every lease on one node, such as a holder that overruns its lease or a node that
// forgets the key.
//
// Unlock returns ErrNotHeld if the key is gone or has another's token. All three documents have the
// same release script. The Unlock of D0 and the unLock of D3 ignore the script's result, like
// set-nx-px-watchdog and set-nx-ex-bounded-renewal. This recipe uses the result.
type setNXPX struct{ ownedDel }

func init() {
	Register(Recipe{
		ID:       "set-nx-px",
		Document: "D0, D2, D3",
		Summary:  "SET key token NX PX ms · Lua: compare and delete",
		Topology: Single,
		Claims:   claims("set-nx-px", wholeMilliseconds, history.Claims{}, compareAndDelete),
		Flaws:    flaws(leaseOutlived(), workOutlived("D0, D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey()),
		New:      onOneNode(func(h handle) (Lock, error) { return &setNXPX{ownedDel{h}}, nil }),
	})
}

// TryLock implements Lock.
func (l *setNXPX) TryLock(ctx context.Context) (Lease, error) {
	return l.withToken(func(token string) error {
		_, err := l.TryLockWith(ctx, token)
		return err
	})
}

// TryLockWith implements TokenLocker: D3's caller passes its request's id.
func (l *setNXPX) TryLockWith(ctx context.Context, token string) (Lease, error) {
	return Lease{Token: token}, setIfAbsent(ctx, l.node(), l.key, token, "NX", "PX", milliseconds(l.ttl))
}
