package locks

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setnxTakeoverDel is an idea that D1 rejects. The key holds the end of the holder's lease, in
// milliseconds since 1970 by the holder's clock. A client that finds a time in the past deletes the
// key and tries SETNX again. If two clients have read the same expired time, both delete: the
// second deletes the first one's new key, and both get in.
//
// D1 names no EXPIRE here, so there is none. D1 does not say when the client reads its clock; in
// the recipe the client reads it for each SETNX and for the comparison. D1 shows four commands
// without a loop, so the lock is no Poller.
//
// A takeover ignores the reply to its DEL. Unlock returns ErrNotHeld if its DEL replies 0.
type setnxTakeoverDel struct{ plainDel }

func init() {
	Register(Recipe{
		ID:       "setnx-takeover-del",
		Document: "D1",
		Summary:  "SETNX key <now + TTL>; busy: GET; in the past: DEL key, SETNX again · DEL key",
		Topology: Single,
		Claims:   claims("setnx-takeover-del", wholeMilliseconds, history.Claims{ClientClock: true}),
		Flaws:    flaws(takeoverFlaws, leaseOutlived(), workOutlived("D1"), serverLostKey(), orphanedUnder(strandingFaults), staleTime("D1")),
		New:      onOneNode(func(h handle) (Lock, error) { return &setnxTakeoverDel{plainDel{h}}, nil }),
	})
}

var takeoverFlaws = flaws(
	may(without(anyFault, "none", "script-flush", "node-clock"),
		under([]string{"client-crash"}, "race", Bug,
			"Two clients that both see the same past time both DEL and SETNX: the second deletes the first's new key, and both believe that they hold the lock.",
			"D1, the rejected idea", "exclusion", "resource")),
	may(anyFault[1:], under([]string{"client-pause", "client-crash", "client-skew", "delay", "node-restart", "failover", "eviction"}, "foreign-delete", Bug,
		"The DEL of a takeover and the DEL of a release do not compare the owner of the key.",
		"D1, the rejected idea; "+redisOwner, "ownership")),
	may(anyFault[1:], under([]string{"client-pause", "delay"}, "foreign-delete", Bug,
		"The DEL of a holder whose lock was taken over removes the new holder's key, and lets a third in.",
		"D1, the rejected idea; "+redisOwner, "exclusion", "resource")),
	may([]string{"node-pause"}, lateDelete("D1, the rejected idea")),
	may([]string{"delay", "node-pause"}, under([]string{"client-skew", "client-pause"}, "client-clock", Bug,
		"A rival whose clock is ahead, or a time that was old when it arrived, ends a lease early; Redis could have counted the time.",
		"D1: clients' clocks must agree", "exclusion", "resource")),
)

// TryLock implements Lock. The lease has no token: the key holds a time, and another client may
// write the same time. TryLock returns an error if the key's value is not a time.
func (l *setnxTakeoverDel) TryLock(ctx context.Context) (Lease, error) {
	if err := l.setnx(ctx); !errors.Is(err, ErrBusy) {
		return Lease{}, err
	}
	until, err := l.node().Do(ctx, "GET", l.key).Int64()
	switch {
	case errors.Is(err, redis.Nil): // the key has gone since our SETNX
		return Lease{}, ErrBusy
	case err != nil:
		return Lease{}, fmt.Errorf("read until when %q is held: %w", l.key, err)
	case until >= l.client.Now().UnixMilli():
		return Lease{}, ErrBusy
	}
	if err := l.node().Do(ctx, "DEL", l.key).Err(); err != nil {
		return Lease{}, fmt.Errorf("take over %q: %w", l.key, err)
	}
	return Lease{}, l.setnx(ctx)
}

func (l *setnxTakeoverDel) setnx(ctx context.Context) error {
	return setnx(ctx, l.node(), l.key, l.client.Now().UnixMilli()+milliseconds(l.ttl))
}
