package locks

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// setnxExpirePipeline is an idea that D1 rejects: the client sends SETNX and EXPIRE in one
// pipeline, so it cannot crash between them. But it sends EXPIRE before it knows the reply of
// SETNX. So each attempt at a busy lock prolongs the key of a living or dead holder, for as long as
// anybody polls. A pipeline is not atomic either: if the connection breaks half-way, Redis may get
// only SETNX, and Redis may serve other clients between the two commands.
//
// Only the reply of SETNX decides. If it is 0, TryLock returns ErrBusy whatever EXPIRE replied. If
// it is 1 and EXPIRE fails, the outcome is unknown. Unlock returns ErrNotHeld if DEL replies 0.
type setnxExpirePipeline struct {
	polling
	plainDel
}

func init() {
	Register(Recipe{
		ID:       "setnx-expire-pipeline",
		Document: "D1",
		Summary:  "in one pipeline SETNX key 1, EXPIRE key s · DEL key",
		Topology: Single,
		Claims:   claims("setnx-expire-pipeline", wholeSeconds, history.Claims{}),
		Flaws: flaws(
			unconditionalExpire("D1: EXPIRE depends on SETNX's reply, which a pipeline cannot know"),
			may(strandingFaults, under([]string{mixed}, "no-expiry", Bug,
				"A pipeline is not atomic: if only SETNX arrives, or only SETNX reached the replica that becomes primary, the key has no TTL until somebody's next attempt gives it one.",
				"D1: pipeline", "liveness")),
		),
		New: onOneNode(func(h handle) (Lock, error) { return &setnxExpirePipeline{plainDel: plainDel{h}}, nil }),
	})
}

// unconditionalExpire returns the flaws of a lock whose every attempt sends EXPIRE. While anybody
// polls, no key expires. So a crashed client's key keeps everybody out, but a frozen holder keeps its
// lock: leases are overrun more rarely than in other locks.
func unconditionalExpire(document string) []Flaw {
	return flaws(
		under(anyFault, "foreign-renewal", Bug,
			"EXPIRE does not depend on SETNX: each attempt at a busy lock sets the life of the holder's key anew.",
			document, "ownership"),
		under(append([]string{"hung-work"}, strandingFaults...), "foreign-renewal", Bug,
			"The attempts of waiting clients keep a key alive for ever if its holder died or hangs, or if its grant or its release was lost.",
			document, "liveness"),
		under([]string{"lost-reply", "delay", "reset", "node-restart", "failover"}, "orphaned-key", Bug,
			"A client that never learnt of its grant, or whose release was lost, keeps its own key alive by its next attempts, and so keeps itself out.",
			document, "liveness"),
		foreignDelete("After a node lost the key, or its clock let it expire, and another got in, a bare DEL removes the other's lock and lets a third in.",
			document+"; "+redisOwner, "node-restart", "failover", "eviction", "node-clock", "split-brain"),
		may([]string{"client-pause", "slow-work", "hung-work", "node-pause"}, under([]string{mixed}, "lease-outlived", Limit,
			"A holder that is frozen or at work for longer than the lease still believes that it holds the lock, while the key expires unless another client's attempt reaches the node.",
			kleppmann, "exclusion", "resource")),
		under([]string{mixed}, "late-command", Bug,
			"A bare DEL that arrives after its client gave up on it and holds the lock again removes the new lease.",
			document, "exclusion", "resource"),
		serverClock(), prolongedKey(), serverLostKey(),
	)
}

// TryLock implements Lock. The lease has no token.
func (l *setnxExpirePipeline) TryLock(ctx context.Context) (Lease, error) {
	return Lease{}, setnxAndExpire(ctx, l.node().Pipeline(), l.key, l.ttl)
}

// setnxAndExpire sends SETNX and EXPIRE together, so EXPIRE runs whatever SETNX replies. It returns
// nil if the key was free and ErrBusy if not; after any other error the outcome is unknown.
func setnxAndExpire(ctx context.Context, together redis.Pipeliner, key string, ttl time.Duration) error {
	won := together.Do(ctx, "SETNX", key, 1)
	timed := together.Do(ctx, "EXPIRE", key, seconds(ttl))
	_, _ = together.Exec(ctx) // each command has its own error
	if err := acquired(won, key); err != nil {
		return err
	}
	return lifeSet(timed, key)
}
