package locks

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// setNXEX is D3's SET with EX and NX: one command sets key and expiry. All holders write the same
// value and release with a bare DEL. A DEL that is sent or delivered after the key expired removes
// another's lock.
//
// Unlock returns ErrNotHeld if DEL replies 0.
type setNXEX struct{ plainDel }

func init() {
	Register(Recipe{
		ID:       "set-nx-ex",
		Document: "D3",
		Summary:  "SET key 1 EX s NX · DEL key",
		Topology: Single,
		Claims:   claims("set-nx-ex", wholeSeconds, history.Claims{}),
		Flaws:    flaws(bareDelete("D3"), leaseOutlived(), workOutlived("D3"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey()),
		New:      onOneNode(func(h handle) (Lock, error) { return &setNXEX{plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *setNXEX) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, setIfAbsent(ctx, l.node(), l.key, 1, "EX", seconds(l.ttl), "NX")
}
