package locks

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// redlockDrift is RedLock as the Redis page describes it ("Distributed Locks with Redis"). It
// differs from redlock in two ways: elapsed time is monotonic, and the possible clock drift during
// the lease is subtracted. Three flaws remain: a node that restarts empty grants the lock a second
// time; nodes expire keys by their wall clocks; a deadline ends the belief of a frozen client, but
// does not protect the resource.
//
// Unlock returns ErrNotHeld if so many nodes did not have the client's key that no majority can have
// had it.
type redlockDrift struct{ redlock }

func init() {
	Register(Recipe{
		ID:       "redlock-drift",
		Document: "R",
		Summary:  "SET key token NX PX ms on each node in turn, held by N/2+1 for TTL - elapsed - TTL/100 - 2 ms · Lua: compare and delete on every node · when asked: Lua: compare and PEXPIRE on every node",
		Topology: Independent,
		Claims:   redlockDriftClaims("redlock-drift"),
		Flaws:    flaws(redlockDriftFlaws, quorumLostKey("node-restart", "eviction")),
		New:      onOneNode(newRedlockDrift),
	})
}

var redlockDriftFlaws = flaws(
	deadlineCheckedTooEarly(), deadlineMoved("exclusion", "resource"), serverClock(), prolongedKey(), orphanedQuorum(),
)

func redlockDriftClaims(id string) func(ttl time.Duration, nodes int) history.Claims {
	return func(ttl time.Duration, nodes int) history.Claims {
		also := history.Claims{Quorum: majority, Extends: true, Timeout: redlockNodeTimeout(ttl)}
		return claims(id, wholeMilliseconds, also, compareAndDelete, compareAndPExpire)(ttl, nodes)
	}
}

func newRedlockDrift(h handle) (Lock, error) {
	return &redlockDrift{redlock{h, redlockNodeTimeout(h.ttl)}}, nil
}

// redlockClockDrift returns the clock drift that the implementations listed on the Redis page
// subtract: a hundredth of the lease, and 2 ms for the precision of Redis's expiry.
func redlockClockDrift(ttl time.Duration) time.Duration { return ttl/100 + 2*time.Millisecond }

// TryLock implements Lock. As in redlock, ErrBusy is certain, and a failed attempt releases the key on
// every node.
func (l *redlockDrift) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease, start := Lease{Token: token}, time.Now()
	granted := l.ask(ctx, token)
	if granted >= l.majority() && l.client.claim(&lease, start, l.ttl-redlockClockDrift(l.ttl)) {
		return lease, nil
	}
	return lease, l.fail(ctx, token, granted, time.Since(start))
}

// Extend implements Extender ("Distributed Locks with Redis": "Extending the lock"): the lease goes
// on if a majority of nodes prolonged it within the validity time. ErrNotHeld: so many nodes did not
// have the client's key that no majority can have had it.
func (l *redlockDrift) Extend(ctx context.Context, lease Lease) (Lease, error) {
	start := time.Now()
	extended, failed := l.onEach(ctx, func(ctx context.Context, node Node) error {
		return extendOwned(ctx, node, l.key, lease.Token, l.ttl)
	})
	err := l.decided("extend", extended, failed)
	if err == nil && !l.client.claim(&lease, start, l.ttl-redlockClockDrift(l.ttl)) {
		err = errExtendedTooLate
	}
	return lease, err
}
