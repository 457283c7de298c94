package locks

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// setnxExpire is the lock of D1 and D3 that sets the key's expiry with a second command. A client
// that crashes or loses its connection between the two commands leaves a key that never expires. A
// bare DEL that is sent or delivered after the key expired removes another's lock.
//
// If EXPIRE fails, the outcome is unknown, although SETNX has succeeded: the key exists, but the
// client does not rely on it. Unlock returns ErrNotHeld if DEL replies 0.
type setnxExpire struct {
	polling
	plainDel
}

func init() {
	Register(Recipe{
		ID:       "setnx-expire",
		Document: "D1, D3",
		Summary:  "SETNX key 1, then EXPIRE key s · DEL key",
		Topology: Single,
		Claims:   claims("setnx-expire", wholeSeconds, history.Claims{}),
		Flaws: flaws(
			may([]string{"node-restart", "failover", "split-brain"},
				under(without(strandingFaults, "node-restart", "failover", "split-brain"), "no-expiry", Bug,
					"A crash, a lost connection or a lost reply between SETNX and EXPIRE leaves a key without a TTL.",
					"D1, D3: two commands are not one", "liveness")),
			bareDelete("D1, D3"),
			// If a node dies after SETNX, the connection dies too, and the client sends no EXPIRE.
			// So faults that kill a node show this flaw only by chance.
			may([]string{"node-restart", "failover", "split-brain", "node-clock", "node-pause"}, under([]string{"client-pause", "delay", "eviction"}, "foreign-renewal", Bug,
				"EXPIRE does not compare the owner: if another's late DEL, or the node, removed the key right after SETNX, EXPIRE sets the TTL of the next holder's key.",
				"D1, D3: two commands are not one", "ownership")),
			under([]string{mixed}, "foreign-renewal", Bug,
				"EXPIRE does not compare the owner: an EXPIRE that comes late prolongs the key of a dead holder.",
				"D1, D3: two commands are not one", "liveness"),
			leaseOutlived(), workOutlived("D1, D3"),
			serverClock(), prolongedKey(),
			serverLostKey(),
			orphanedKey(),
		),
		New: onOneNode(func(h handle) (Lock, error) { return &setnxExpire{plainDel: plainDel{h}}, nil }),
	})
}

// TryLock implements Lock. The lease has no token.
func (l *setnxExpire) TryLock(ctx context.Context) (Lease, error) {
	if err := setnx(ctx, l.node(), l.key, 1); err != nil {
		return Lease{}, err
	}
	return Lease{}, expire(ctx, l.node(), l.key, l.ttl)
}
