package locks

import (
	"context"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// setNXPXWatchdog is D0's mutex with a watchdog: SET NX PX, and while it is held a
// plain EXPIRE at every third of the lease. The flaws: the watchdog never checks whose
// key it prolongs, and it ends for good, silently, at the first error or missing key.
//
// ErrNotHeld if the release finds no key or another's token.
type setNXPXWatchdog struct {
	client *Client
	key    string
	ttl    time.Duration

	mu   sync.Mutex
	dogs map[string]*watchdog // by token
}

func init() {
	Register(Recipe{
		ID:       "set-nx-px-watchdog",
		Document: "D0",
		Summary:  "SET key token NX PX ms · Lua: compare and delete, then stop · every TTL/3 EXPIRE key s, for good until the first error or missing key",
		Topology: Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			// The renewal's whole seconds outlast the grant's milliseconds.
			claims := oneNodeClaims("set-nx-px-watchdog", ttl, wholeSeconds(ttl), compareAndDelete)
			claims.Renews = true
			return claims
		},
		Flaws: setNXPXWatchdogFlaws,
		New: onOneNode(func(c *Client, key string, ttl time.Duration) (Lock, error) {
			return &setNXPXWatchdog{client: c, key: key, ttl: ttl, dogs: map[string]*watchdog{}}, nil
		}),
	})
}

var setNXPXWatchdogFlaws = flaws(
	// Even without a fault: between the release and the watchdog's stop.
	may(anyFault, under([]string{"client-pause", "delay", "node-restart", "failover", "eviction", "node-clock"}, "foreign-renewal", Bug,
		"The plain EXPIRE does not ask whose key it is: once the key was lost, or arriving late, it prolongs another's lock.",
		"D0: the watchdog; the release beside it compares", "ownership")),
	may(losingFaults, under([]string{mixed}, "foreign-renewal", Bug,
		"The watchdog of one client, whose own key was lost, keeps the key alive that another, gone or not heard, left behind.",
		"D0: the watchdog; the release beside it compares", "liveness")),
	renewalFailed(Bug,
		"One lost reply ends the watchdog for good, though the key was still there to be renewed at the next tick, and the holder is not told.",
		"D0: the watchdog returns at the first error",
		"lost-reply", "partition", "partition-requests", "partition-replies", "reset", "delay"),
	leaseOutlived(), serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)

// TryLock implements Lock. LostC is nil: D0's watchdog ends silently.
func (l *setNXPXWatchdog) TryLock(ctx context.Context) (Lease, error) {
	token, err := l.client.Token()
	if err != nil {
		return Lease{}, err
	}
	lease := Lease{Token: token}
	if err := setIfAbsent(ctx, l.client.Nodes[0], l.key, token, "NX", "PX", milliseconds(l.ttl)); err != nil {
		return lease, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dogs[token] = startWatchdog(l.client.Context, l.ttl/3, l.renew)
	return lease, nil
}

// renew prolongs the key, whoever owns it by now. The first error or missing key ends
// the watchdog.
func (l *setNXPXWatchdog) renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*l.ttl/3)
	defer cancel()
	renewed, err := l.client.Nodes[0].Do(ctx, "EXPIRE", l.key, seconds(l.ttl)).Int64()
	return err == nil && renewed == 1
}

// Unlock implements Lock. The watchdog is stopped after the release, whatever its
// result: in between it may renew another's key.
func (l *setNXPXWatchdog) Unlock(ctx context.Context, lease Lease) error {
	err := releaseOwned(ctx, l.client.Nodes[0], l.key, lease.Token)
	l.mu.Lock()
	defer l.mu.Unlock()
	if dog := l.dogs[lease.Token]; dog != nil {
		dog.stop()
		delete(l.dogs, lease.Token)
	}
	return err
}
