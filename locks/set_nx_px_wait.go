package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setNXPXWait is set-nx-px on a primary with replicas. The client holds the lock only if at least
// one replica has the key too (WAIT on the connection that sent the SET). WAIT is no consensus: any
// replica may be promoted, even one that did not acknowledge the key.
//
// Without such a replica, or when the lease is over, TryLock releases the key and returns ErrBusy.
// If that release fails, the outcome is unknown. Unlock returns ErrNotHeld if the key is gone or has
// another's token.
type setNXPXWait struct{ ownedDel }

func init() {
	Register(Recipe{
		ID:       "set-nx-px-wait",
		Document: "R",
		Summary:  "SET key token NX PX ms, WAIT 1 ms, held for TTL - elapsed if a replica has it, else compare and delete · Lua: compare and delete",
		Topology: Replicated,
		Claims:   claims("set-nx-px-wait", wholeMilliseconds, history.Claims{}, compareAndDelete),
		Flaws:    setNXPXWaitFlaws,
		New:      onOneNode(func(h handle) (Lock, error) { return &setNXPXWait{ownedDel{h}}, nil }),
	})
}

var setNXPXWaitFlaws = flaws(
	deadlineCheckedTooEarly(), deadlineMoved("exclusion", "resource"), serverClock(), prolongedKey(), may(clientClockFaults, orphanedKey()),
	may([]string{"split-brain"}, under([]string{"node-restart", "eviction", "failover"}, "server-lost-key", Limit,
		"A primary that restarts empty or evicts the key grants the lock again; so does a promoted replica other than the one that acknowledged the key.",
		`redis.io, WAIT: "WAIT does not make Redis a strongly consistent store"`, "exclusion", "resource")),
)

// acknowledgements is the number of replicas that must have the key. With two replicas or more,
// clients can still work while one replica is down.
const acknowledgements = 1

// TryLock implements Lock.
func (l *setNXPXWait) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease, start := Lease{Token: token}, time.Now()
	replicas, err := l.set(ctx, token)
	if err != nil {
		return lease, err
	}
	if replicas >= acknowledgements && l.client.claim(&lease, start, l.ttl) {
		return lease, nil
	}
	err = releaseOwned(ctx, l.node(), l.key, token)
	if err != nil && !errors.Is(err, ErrNotHeld) {
		return lease, err
	}
	return lease, fmt.Errorf("%w: %d replicas acknowledged it in %v", ErrBusy, replicas, time.Since(start))
}

// set sets the key and returns how many replicas have it. WAIT covers only the writes of its own
// connection, so SET and WAIT share one connection. WAIT may take a tenth of the lease, so that
// enough of the lease remains.
func (l *setNXPXWait) set(ctx context.Context, token string) (replicas int64, err error) {
	master, err := masterOf(ctx, l.node(), l.key)
	if err != nil {
		return 0, err
	}
	conn := master.Conn()
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.Do(ctx, "SET", l.key, token, "NX", "PX", milliseconds(l.ttl)).Err()
	switch {
	case errors.Is(err, redis.Nil):
		return 0, ErrBusy
	case err != nil:
		return 0, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	replicas, err = conn.Do(ctx, "WAIT", acknowledgements, milliseconds(l.ttl/10)).Int64()
	if err != nil {
		return 0, fmt.Errorf("wait for replicas of %q: %w", l.key, err)
	}
	return replicas, nil
}
