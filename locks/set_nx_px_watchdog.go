package locks

import (
	"context"
	"fmt"

	"github.com/lockstorm/lockstorm/history"
)

// setNXPXWatchdog is D0's mutex with a watchdog: SET NX PX, and then a plain EXPIRE at every third of
// the lease until the release. There are two flaws: the watchdog never checks the owner of the key
// that it prolongs, and the watchdog ends silently at the first error or missing key.
//
// D0's Lock has one value and one stop channel. In this recipe each lease has its own value and
// channel, as if the service made a new Lock for each critical section. In
// set-nx-px-watchdog-reused all leases share one Lock.
//
// Unlock returns nil whatever the script replied, as in D0. So it returns nil even to a holder whose
// key is gone or belongs to another client.
type setNXPXWatchdog struct {
	watchedMutex
	dogs watchdogs // by token
}

func init() {
	Register(Recipe{
		ID:       "set-nx-px-watchdog",
		Document: "D0",
		Summary:  "SET key token NX PX ms · Lua: compare and delete, then stop · every TTL/3 EXPIRE key s, for good until the first error or missing key",
		Topology: Single,
		// The renewal's whole seconds outlast the grant's milliseconds.
		Claims:    claims("set-nx-px-watchdog", wholeSeconds, history.Claims{Renews: true}, compareAndDelete),
		Flaws:     setNXPXWatchdogFlaws,
		Unrenewed: "set-nx-px",
		New:       onOneNode(func(h handle) (Lock, error) { return &setNXPXWatchdog{watchedMutex: watchedMutex{h}}, nil }),
	})
}

var setNXPXWatchdogFlaws = flaws(
	plainExpire("client-pause", "delay", "node-restart", "failover", "eviction", "node-clock"),
	renewalFailed(Bug,
		"One renewal whose request or reply is lost ends the watchdog for good, even if the next tick's renewal would arrive in time, and the holder is not told.",
		"D0: the watchdog returns at the first error",
		"lost-reply", "partition", "partition-requests", "partition-replies", "reset", "delay"),
	leaseOutlived(), hungHolder("D0: the watchdog"), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// plainExpire returns the flaws of a watchdog that prolongs the key without checking the owner.
// Under the given faults a complete run must find that the watchdog prolongs another client's key.
func plainExpire(faults ...string) []Flaw {
	return flaws(
		// Unlock stops the watchdog only after the release. In between, even without a fault, the
		// watchdog may prolong the key of the next holder.
		may(anyFault, under(faults, "foreign-renewal", Bug,
			"The plain EXPIRE does not compare the owner: after the key was lost, or if EXPIRE arrives late, it prolongs another's lock.",
			"D0: the watchdog; the release beside it compares", "ownership")),
		may(losingFaults, under([]string{mixed}, "foreign-renewal", Bug,
			"The watchdog of a client whose own key was lost keeps alive the key of another client, which crashed, or whose grant or release was lost.",
			"D0: the watchdog; the release beside it compares", "liveness")),
	)
}

// TryLock implements Lock. LostC is nil: D0's watchdog ends silently.
func (l *setNXPXWatchdog) TryLock(ctx context.Context) (Lease, error) {
	lease, err := l.acquire(ctx)
	if err == nil {
		l.dogs.ensure(lease.Token, func() *watchdog {
			return startWatchdog(l.client.Context, l.ttl/3, evenOdds(l.client.Rand), l.renew)
		})
	}
	return lease, err
}

// Unlock implements Lock. It stops the watchdog after the release, whatever the release's result.
// Before the stop the watchdog may renew another client's key.
func (l *setNXPXWatchdog) Unlock(ctx context.Context, lease Lease) error {
	defer l.dogs.stop(lease.Token)
	return l.release(ctx, lease)
}

// watchedMutex sends the commands of D0's mutex and of its watchdog.
type watchedMutex struct{ handle }

// acquire makes one attempt, with a new value.
func (l *watchedMutex) acquire(ctx context.Context) (Lease, error) {
	return l.withToken(func(token string) error {
		return setIfAbsent(ctx, l.node(), l.key, token, "NX", "PX", milliseconds(l.ttl))
	})
}

// renew prolongs the key, even if another client owns the key by now. The first error or missing
// key ends the watchdog.
func (l *watchedMutex) renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*l.ttl/3)
	defer cancel()
	renewed, err := l.node().Do(ctx, "EXPIRE", l.key, seconds(l.ttl)).Int64()
	return err == nil && renewed == 1
}

// release compares and deletes. It returns only errors: D0 does not read the reply.
func (l *watchedMutex) release(ctx context.Context, lease Lease) error {
	err := compareAndDelete.Run(ctx, l.node(), []string{l.key}, lease.Token).Err()
	if err != nil {
		return fmt.Errorf("release %q: %w", l.key, err)
	}
	return nil
}
