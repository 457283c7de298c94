package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// fenced is set-nx-px with a fencing token (M. Kleppmann, "How to do distributed locking", 2016):
// the script that grants the lock also counts grants, and the count is the fencing token. The
// guarded resource refuses a token that is lower than one that it has seen. So a holder that is
// frozen past its lease does no harm. The counter is a Redis key: a node that loses this key hands
// out old fencing tokens again.
//
// The counter never expires: it is not a lock, and nobody waits for it. Unlock returns ErrNotHeld
// if the lock's key is gone or has another client's token.
type fenced struct{ ownedDel }

func init() {
	Register(Recipe{
		ID:       "fenced",
		Document: "K",
		Summary:  "Lua: SET key token NX PX ms, INCR {key}:fence; held for TTL - elapsed · Lua: compare and delete · when asked: Lua: compare and PEXPIRE",
		Topology: Single,
		Claims:   claims("fenced", wholeMilliseconds, history.Claims{Fenced: true, Extends: true}, setAndCount, compareAndDelete, compareAndPExpire),
		Flaws:    fencedFlaws,
		New:      onOneNode(func(h handle) (Lock, error) { return &fenced{ownedDel{h}}, nil }),
	})
}

var fencedFlaws = flaws(
	// The resource refuses older fencing tokens. So the first three flaws violate the oracle
	// "exclusion" but not the oracle "resource".
	deadlineMoved("exclusion"), serverClock("exclusion"), serverLostKey("exclusion"), prolongedKey(), may(clientClockFaults, orphanedKey()),
	under(losingFaults, "fence-regressed", Limit,
		"The counter can be lost like the lock's key: a node that forgets it, or a replica that has not heard of it, hands out fences again.",
		kleppmann+"; fencing tokens need a counter that survives", "fencing"),
	// A counter that starts anew gives low fencing tokens, which the resource refuses. But if the
	// counter missed only the latest grant, two holders get the same token.
	may([]string{"node-restart", "eviction"}, under([]string{"failover", "split-brain"}, "server-lost-key", Limit,
		"Two primaries, or a replica that missed the last grant, give two holders the same fence, and the resource accepts both.",
		redisFailed, "resource")),
	extendedByOldPrimary(),
	may(losingFaults, under([]string{mixed}, "lease-outlived", Limit,
		"A late writer whose fence was handed out again is not refused.", kleppmann, "resource")),
)

// setAndCount takes a free lock and returns the number of this grant, which is the fencing token.
// It returns nil if the lock is taken.
// KEYS[1] is the lock, KEYS[2] its counter in the same cluster slot, ARGV[1] the token, ARGV[2] the
// TTL in milliseconds.
var setAndCount = newScript("set-and-count", `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("INCR", KEYS[2])
end
return nil`)

// TryLock implements Lock. If the grant arrives after the end of its lease, TryLock releases the
// lock and returns ErrBusy. ErrBusy is certain even if the release fails: this client does not use
// the grant, and no other client can.
func (l *fenced) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	node, lease, start := l.node(), Lease{Token: token}, time.Now()
	fence, err := setAndCount.Run(ctx, node, []string{l.key, "{" + l.key + "}:fence"}, token, milliseconds(l.ttl)).Int64()
	switch {
	case errors.Is(err, redis.Nil):
		return lease, ErrBusy
	case err != nil:
		return lease, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	lease.Fence = fence
	if !l.client.claim(&lease, start, l.ttl) {
		return lease, tooLate(releaseOwned(ctx, node, l.key, token))
	}
	return lease, nil
}

// Extend implements Extender. The fencing token stays the same. If the reply arrives after the end of
// the new lease, the outcome is unknown.
func (l *fenced) Extend(ctx context.Context, lease Lease) (Lease, error) {
	start := time.Now()
	if err := extendOwned(ctx, l.node(), l.key, lease.Token, l.ttl); err != nil {
		return lease, err
	}
	if !l.client.claim(&lease, start, l.ttl) {
		return lease, errExtendedTooLate
	}
	return lease, nil
}
