package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

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
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			return redlockDriftClaims("redlock-drift", ttl, nodes)
		},
		Flaws: flaws(redlockDriftFlaws, quorumLostKey("node-restart", "eviction")),
		New:   onOneNode(newRedlockDrift),
	})
}

var redlockDriftFlaws = flaws(
	deadlineCheckedTooEarly(), deadlineMoved("exclusion", "resource"), serverClock(), prolongedKey(), orphanedQuorum(),
)

func redlockDriftClaims(id string, ttl time.Duration, nodes int) history.Claims {
	claims := oneNodeClaims(id, ttl, wholeMilliseconds(ttl), compareAndDelete, compareAndPExpire)
	claims.Quorum = nodes/2 + 1
	claims.Extends = true
	claims.Timeout = redlockNodeTimeout(ttl)
	return claims
}

func newRedlockDrift(c *Client, key string, ttl time.Duration) (Lock, error) {
	return &redlockDrift{redlock{client: c, key: key, ttl: ttl, nodeTimeout: redlockNodeTimeout(ttl)}}, nil
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
	lease := Lease{Token: token}
	start, granted := time.Now(), 0
	for _, node := range l.client.Nodes {
		if l.ask(ctx, node, token, milliseconds(l.ttl)) == nil {
			granted++
		}
	}
	if granted >= len(l.client.Nodes)/2+1 && l.client.claim(&lease, start, l.ttl-redlockClockDrift(l.ttl)) {
		return lease, nil
	}
	l.giveBack(ctx, token)
	if err := ctx.Err(); err != nil {
		return lease, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	return lease, fmt.Errorf("%w: %d of %d nodes granted it, in %v of %v", ErrBusy, granted, len(l.client.Nodes), time.Since(start), l.ttl)
}

// Extend implements Extender ("Distributed Locks with Redis": "Extending the lock"): the lease goes
// on if a majority of nodes prolonged it within the validity time. ErrNotHeld: so many nodes did not
// have the client's key that no majority can have had it.
func (l *redlockDrift) Extend(ctx context.Context, lease Lease) (Lease, error) {
	start, extended := time.Now(), 0
	var failed []error
	for _, node := range l.client.Nodes {
		err := l.prolong(ctx, node, lease.Token)
		switch {
		case err == nil:
			extended++
		case !errors.Is(err, ErrNotHeld):
			failed = append(failed, err)
		}
	}
	majority := len(l.client.Nodes)/2 + 1
	switch {
	case extended+len(failed) < majority:
		return lease, ErrNotHeld
	case extended < majority:
		return lease, fmt.Errorf("extend %q on %d of %d nodes: %w", l.key, extended, len(l.client.Nodes), errors.Join(failed...))
	case !l.client.claim(&lease, start, l.ttl-redlockClockDrift(l.ttl)):
		return lease, errExtendedTooLate
	}
	return lease, nil
}

// prolong extends the lease on one node and waits at most l.nodeTimeout.
func (l *redlockDrift) prolong(ctx context.Context, node redis.UniversalClient, token string) error {
	ctx, cancel := context.WithTimeout(ctx, l.nodeTimeout)
	defer cancel()
	return extendOwned(ctx, node, l.key, token, l.ttl)
}
