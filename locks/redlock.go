package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// redlock is RedLock as D3 describes it. The client asks N independent nodes in turn, and holds the
// lock if a majority granted it within the lease. The deadline is one lease after the start of the
// first request. There are four flaws: elapsed time is the difference of two readings of a wall
// clock; clock drift is not subtracted; a node that restarts empty grants the lock a second time; a
// deadline ends the belief of a frozen client, but does not protect the resource.
//
// Unlock returns ErrNotHeld if so many nodes did not have the client's key that no majority can have
// had it.
type redlock struct {
	client *Client
	key    string
	ttl    time.Duration
	// nodeTimeout is how long the client waits for one node.
	nodeTimeout time.Duration
}

func init() { Register(RedlockWaiting(redlockNodeTimeout)) }

// RedlockWaiting returns the recipe redlock with another timeout for one node. The function timeout
// returns, for a lease time, how long a client waits for one node; it must return a positive
// duration. RedlockWaiting does not register the recipe. The registered recipe waits as D3 proposes.
func RedlockWaiting(timeout func(ttl time.Duration) time.Duration) Recipe {
	return Recipe{
		ID:       "redlock",
		Document: "D3",
		Summary:  "SET key token NX PX ms on each node in turn, held by N/2+1 within the TTL, until t0+TTL · Lua: compare and delete on every node",
		Topology: Independent,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			claims := oneNodeClaims("redlock", ttl, wholeMilliseconds(ttl), compareAndDelete)
			claims.Quorum = nodes/2 + 1
			claims.Timeout = timeout(ttl)
			return claims
		},
		Flaws: redlockFlaws,
		New: onOneNode(func(c *Client, key string, ttl time.Duration) (Lock, error) {
			return &redlock{client: c, key: key, ttl: ttl, nodeTimeout: timeout(ttl)}, nil
		}),
	}
}

var redlockFlaws = flaws(
	deadlineCheckedTooEarly(), quorumLostKey("node-restart", "eviction"), serverClock(), prolongedKey(),
	under([]string{"client-skew"}, "client-clock", Bug,
		"The deadline and the elapsed time are readings of a wall clock: if it is set back during the lease, the holder still believes that it holds the lock after the keys have expired; nobody can set a monotonic clock back.",
		`D3: currentTimeMillis; redis.io, "Distributed Locks with Redis": "Disclaimer about consistency"`, "exclusion", "resource"),
	orphanedQuorum(),
)

// orphanedQuorum is orphanedKey on a majority of nodes. Fewer faults show it for certain, because a
// failed attempt also releases grants whose reply was lost, unless the release overtakes the
// request.
func orphanedQuorum() []Flaw {
	return may(append(without(strandingFaults, "failover", "split-brain"), clientClockFaults...),
		orphanedUnder([]string{"client-crash", "client-pause", "partition", "partition-requests", "delay", "reset", "node-restart"}))
}

// redlockNodeTimeout returns how long the client waits for one node. For a 10 s lease D3 names 5
// to 50 ms; the timeout is the upper end, TTL/200. It stays at 50 ms for shorter leases, since network
// and scheduling delays do not shrink with the lease. With a shorter timeout, a slow node would count as
// dead, and its grant would stay behind. But five dead nodes must cost at most a quarter of the lease, so
// the timeout is at most TTL/20.
func redlockNodeTimeout(ttl time.Duration) time.Duration {
	return max(ttl/200, min(50*time.Millisecond, ttl/20))
}

// TryLock implements Lock. A failed attempt releases the key on every node. ErrBusy means that too
// few nodes granted the lock or that they took too long. Only this client decides that, so ErrBusy
// is certain. If ctx ended by then, TryLock returns ctx's error.
func (l *redlock) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	ttl := milliseconds(l.ttl)
	start := l.client.Now().UnixMilli()
	granted := 0
	for _, node := range l.client.Nodes {
		if l.ask(ctx, node, token, ttl) == nil {
			granted++
		}
	}
	elapsed := l.client.Now().UnixMilli() - start
	if granted >= len(l.client.Nodes)/2+1 && elapsed < ttl {
		return Lease{Token: token, Deadline: time.UnixMilli(start + ttl)}, nil
	}
	l.giveBack(ctx, token)
	lease := Lease{Token: token}
	if err := ctx.Err(); err != nil {
		return lease, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	return lease, fmt.Errorf("%w: %d of %d nodes granted it, in %d of %d ms", ErrBusy, granted, len(l.client.Nodes), elapsed, ttl)
}

// ask sends SET to one node and waits at most l.nodeTimeout.
func (l *redlock) ask(ctx context.Context, node redis.UniversalClient, token string, ttl int64) error {
	ctx, cancel := context.WithTimeout(ctx, l.nodeTimeout)
	defer cancel()
	return setIfAbsent(ctx, node, l.key, token, "NX", "PX", ttl)
}

// Unlock implements Lock. ErrNotHeld: so many nodes did not have the client's key that no majority
// can have had it.
func (l *redlock) Unlock(ctx context.Context, lease Lease) error {
	majority := len(l.client.Nodes)/2 + 1
	deleted, failed := l.giveBack(ctx, lease.Token)
	switch {
	case deleted >= majority:
		return nil
	case deleted+len(failed) < majority:
		return ErrNotHeld
	}
	return fmt.Errorf("release %q on %d of %d nodes: %w", l.key, deleted, len(l.client.Nodes), errors.Join(failed...))
}

// giveBack releases the key on every node, even on a node that seems not to have granted it: the
// reply may have been lost. giveBack ignores the end of ctx, so that no key stays behind. Each
// node's release takes at most l.nodeTimeout.
func (l *redlock) giveBack(ctx context.Context, token string) (deleted int, failed []error) {
	for _, node := range l.client.Nodes {
		err := l.release(context.WithoutCancel(ctx), node, token)
		switch {
		case err == nil:
			deleted++
		case !errors.Is(err, ErrNotHeld):
			failed = append(failed, err)
		}
	}
	return deleted, failed
}

// release releases the key on one node and waits at most l.nodeTimeout.
func (l *redlock) release(ctx context.Context, node redis.UniversalClient, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.nodeTimeout)
	defer cancel()
	return releaseOwned(ctx, node, l.key, token)
}
