package locks

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// setNXEX is D3's SET with EX and NX: one command sets key and expiry. All holders write the same
// value and release with a bare DEL. A DEL that is sent or delivered after the key expired removes
// another's lock.
//
// Unlock returns ErrNotHeld if DEL replies 0.
type setNXEX struct {
	node Node
	key  string
	ttl  time.Duration
}

func init() {
	Register(Recipe{
		ID:       "set-nx-ex",
		Document: "D3",
		Summary:  "SET key 1 EX s NX · DEL key",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			return oneNodeClaims("set-nx-ex", ttl, wholeSeconds(ttl))
		},
		Flaws: flaws(bareDelete("D3"), leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey()),
		New: onOneNode(func(c *Client, key string, ttl time.Duration) (Lock, error) {
			return &setNXEX{c.Nodes[0], key, ttl}, nil
		}),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *setNXEX) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, setIfAbsent(ctx, l.node, l.key, 1, "EX", seconds(l.ttl), "NX")
}

// Unlock implements Lock.
func (l *setNXEX) Unlock(ctx context.Context, _ Lease) error {
	return del(ctx, l.node, l.key)
}
