package locks

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// setnxLock is D3's SETNX lock: one atomic command decides who gets in, but the key never expires.
// A holder that crashes, a SETNX whose reply is lost and a lost DEL each block everybody for ever.
//
// Unlock returns ErrNotHeld if DEL replies 0: another client deleted the key, or the node lost it.
type setnxLock struct{ plainDel }

func init() {
	Register(Recipe{
		ID:       "setnx",
		Document: "D3",
		Summary:  "SETNX key 1 · DEL key",
		Topology: Single,
		Claims:   claims("setnx", forEver, history.Claims{}),
		Flaws: flaws(
			noExpiry("The key has no TTL: a client that crashes, or that loses the reply of SETNX or its DEL, blocks everybody for ever.",
				"D3, SETNX"),
			serverLostKey(),
			may([]string{"split-brain"}, foreignDelete(
				"After the node lost the key and another got in, a bare DEL removes the other's lock and lets a third in.",
				"D3, SETNX; "+redisOwner, "node-restart", "failover", "eviction")),
		),
		New: onOneNode(func(h handle) (Lock, error) { return &setnxLock{plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *setnxLock) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, setnx(ctx, l.node(), l.key, 1)
}
