package locks

import (
	"context"
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// setNXPXWatchdogReused is D0's mutex with a watchdog, used again: each client keeps one Lock for
// each key. The Lock gets its only stop channel when it is made, and each Unlock closes that
// channel. So every later lease finds the channel closed, and its watchdog ends before its first
// renewal. (If a tick is ready at the same time, the watchdog draws whether it renews once.) The
// second Unlock panics.
//
// D0 shows neither a constructor nor a use. D0's mutex never sets the channel, so only a
// constructor can set it; D0's red lock sets the channel in each watchdog. Each attempt draws a new
// value, as D0's text and its red lock say.
//
// Unlock returns nil whatever the script replied.
type setNXPXWatchdogReused struct {
	watchedMutex
	stop chan struct{}
}

func init() {
	Register(Recipe{
		ID:       "set-nx-px-watchdog-reused",
		Document: "D0",
		Summary: "as set-nx-px-watchdog, with one stop channel for all leases: later watchdogs end at once, " +
			"the second release panics",
		Topology: Single,
		// The renewal's whole seconds outlast the grant's milliseconds.
		Claims:    claims("set-nx-px-watchdog-reused", wholeSeconds, history.Claims{Renews: true}, compareAndDelete),
		Flaws:     setNXPXWatchdogReusedFlaws,
		Unrenewed: "set-nx-px",
		New: onOneNode(func(h handle) (Lock, error) {
			return &setNXPXWatchdogReused{watchedMutex{h}, make(chan struct{})}, nil
		}),
	})
}

var setNXPXWatchdogReusedFlaws = flaws(
	under(anyFault, "panic", Bug,
		"Every release closes the one stop channel: the second release closes it again and panics, and the client process dies.",
		"D0: Unlock closes l.watchDog, which the mutex never makes anew", "conduct"),
	may(anyFault, under(
		[]string{"client-crash", "client-skew", "partition", "partition-requests", "partition-replies", "reset", "node-pause"}, "renewal-failed", Bug,
		"The watchdog of every lease but the first finds the stop channel closed and ends before its first renewal: a critical section that overruns the lease loses it.",
		"D0: startWatchDog waits for l.watchDog, which the first Unlock closed", "exclusion", "resource")),
	plainExpire("client-pause", "node-restart", "node-clock"),
	// Some schedules of client-skew also freeze the client. If nobody renews the lease, the client's
	// critical section may then end after the lease.
	may(slices.Concat(clientClockFaults, delayingFaults), leaseOutlived()),
	hungHolder("D0: the watchdog of the first lease"), serverClock(), prolongedKey(), serverLostKey(),
	// The other faults show it only by chance: most trials panic before a key has kept others out.
	may(strandingFaults, orphanedUnder([]string{
		"client-crash", "client-pause", "lost-reply", "partition", "partition-replies", "delay", "reset", "node-pause",
	})),
)

// TryLock implements Lock. LostC is nil: D0's watchdog ends silently.
func (l *setNXPXWatchdogReused) TryLock(ctx context.Context) (Lease, error) {
	lease, err := l.acquire(ctx)
	if err != nil {
		return lease, err
	}
	go renewEvery(l.client.Context, l.ttl/3, l.stop, evenOdds(l.client.Rand), l.renew)
	return lease, nil
}

// Unlock implements Lock. The second call releases, then panics: the channel is already closed.
func (l *setNXPXWatchdogReused) Unlock(ctx context.Context, lease Lease) error {
	err := l.release(ctx, lease)
	close(l.stop)
	return err
}
