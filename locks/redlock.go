package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	handle
	nodeTimeout time.Duration // how long the client waits for one node
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
			also := history.Claims{Quorum: majority, Timeout: timeout(ttl)}
			return claims("redlock", wholeMilliseconds, also, compareAndDelete)(ttl, nodes)
		},
		Flaws: redlockFlaws,
		New:   onOneNode(func(h handle) (Lock, error) { return &redlock{h, timeout(h.ttl)}, nil }),
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
	granted := l.ask(ctx, token)
	elapsed := l.client.Now().UnixMilli() - start
	if granted >= l.majority() && elapsed < ttl {
		return Lease{Token: token, Deadline: time.UnixMilli(start + ttl)}, nil
	}
	return Lease{Token: token}, l.fail(ctx, token, granted, time.Duration(elapsed)*time.Millisecond)
}

func (l *redlock) majority() int { return len(l.client.Nodes)/2 + 1 }

// fail ends an attempt without a majority or in too long a time: it gives all grants back.
func (l *redlock) fail(ctx context.Context, token string, granted int, elapsed time.Duration) error {
	l.giveBack(ctx, token)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("acquire %q: %w", l.key, err)
	}
	return fmt.Errorf("%w: %d of %d nodes granted it, in %v of %v", ErrBusy, granted, len(l.client.Nodes), elapsed, l.ttl)
}

// onEach calls do for one node after another and waits at most l.nodeTimeout for each. It returns how many
// calls succeeded, and the errors of unknown outcome: ErrBusy and ErrNotHeld are certain.
func (l *redlock) onEach(ctx context.Context, do func(context.Context, Node) error) (done int, failed []error) {
	for _, node := range l.client.Nodes {
		limited, cancel := context.WithTimeout(ctx, l.nodeTimeout)
		err := do(limited, node)
		cancel()
		switch {
		case err == nil:
			done++
		case !errors.Is(err, ErrNotHeld) && !errors.Is(err, ErrBusy):
			failed = append(failed, err)
		}
	}
	return done, failed
}

// ask sends SET to every node and returns how many granted the lock.
func (l *redlock) ask(ctx context.Context, token string) int {
	granted, _ := l.onEach(ctx, func(ctx context.Context, node Node) error {
		return setIfAbsent(ctx, node, l.key, token, "NX", "PX", milliseconds(l.ttl))
	})
	return granted
}

// decided returns the error of a release or an extension that succeeded on done nodes. ErrNotHeld: so
// many nodes did not have the client's key that no majority can have had it.
func (l *redlock) decided(what string, done int, failed []error) error {
	switch {
	case done >= l.majority():
		return nil
	case done+len(failed) < l.majority():
		return ErrNotHeld
	}
	return fmt.Errorf("%s %q on %d of %d nodes: %w", what, l.key, done, len(l.client.Nodes), errors.Join(failed...))
}

// Unlock implements Lock.
func (l *redlock) Unlock(ctx context.Context, lease Lease) error {
	deleted, failed := l.giveBack(ctx, lease.Token)
	return l.decided("release", deleted, failed)
}

// giveBack releases the key on every node, even on a node that seems not to have granted it: the
// reply may have been lost. giveBack ignores the end of ctx, so that no key stays behind.
func (l *redlock) giveBack(ctx context.Context, token string) (deleted int, failed []error) {
	return l.onEach(context.WithoutCancel(ctx), func(ctx context.Context, node Node) error {
		return releaseOwned(ctx, node, l.key, token)
	})
}
