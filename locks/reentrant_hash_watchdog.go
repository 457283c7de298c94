package locks

import (
	"context"
	"errors"

	"github.com/lockstorm/lockstorm/history"
)

// reentrantHashWatchdog is D2's "automatic renewal 1.0": reentrant-hash with a timer. The timer
// prolongs the hash as long as the hash has the owner's field. If the timer cannot reach Redis for
// a whole lease, the holder loses the lock. The flaw: if an entry is counted twice or a release is
// lost, the field stays behind, and the timer renews it for as long as the process lives.
//
// D2's owner is a thread, so the entries of one owner come one after another. Unlock returns
// ErrNotHeld if it does not find the owner's field.
type reentrantHashWatchdog struct {
	*reentrantHash
	timers *hashTimers
}

func init() {
	Register(Recipe{
		ID:        "reentrant-hash-watchdog",
		Document:  "D2",
		Summary:   "Lua: free or own: HINCRBY key owner 1, EXPIRE · Lua: HINCRBY key owner -1, at 0 DEL and stop · every TTL/3 Lua: own: EXPIRE",
		Topology:  Single,
		Claims:    claims("reentrant-hash-watchdog", wholeSeconds, history.Claims{Reentrant: true, Renews: true}, hashEnter, hashLeave, hashRenew),
		Flaws:     reentrantHashWatchdogFlaws,
		Unrenewed: "reentrant-hash",
		New: withState(newHashTimers, func(h handle, t *hashTimers) Lock {
			return &reentrantHashWatchdog{&reentrantHash{h, t.owner}, t}
		}),
	})
}

var reentrantHashWatchdogFlaws = flaws(
	renewalFailed(Limit,
		"A timer that reaches no node for a whole lease loses the lock while its holder works on.",
		"D2, automatic renewal 1.0", "partition", "partition-requests", "delay"),
	may([]string{"failover", "split-brain"}, under([]string{"lost-reply", "partition", "partition-requests", "partition-replies", "reset", "delay", "node-pause", "node-restart"}, "foreign-renewal", Bug,
		"The watchdog renews a field that its owner no longer relies on, because an acquire was counted twice after a lost reply or a release was lost, for as long as the process lives.",
		"D2, automatic renewal 1.0: only the field's absence ends the timer", "liveness")),
	leaseOutlived(), hungHolder("D2, automatic renewal 1.0"), serverClock(), prolongedKey(), ownerFlaws("D2"),
	// A client that lost a reply tries again, enters the lock once more and then renews it. So only
	// the key of a client that is gone, frozen or cut off keeps others out until it expires.
	may(strandingFaults, orphanedEntry("D2", []string{"client-crash", "client-pause", "partition", "partition-requests", "split-brain"})),
)

// hashTimers holds the running watchdogs of one owner, one per lock.
type hashTimers struct {
	owner string
	watchdogs
}

func newHashTimers(c *Client) (*hashTimers, error) {
	owner, err := ownerID(c)
	return &hashTimers{owner: owner}, err
}

// hashRenew prolongs the owner's hold. It returns 1, or 0 if the owner has no hold.
// KEYS[1] is the lock, ARGV[1] the owner, ARGV[2] the lease in seconds.
var hashRenew = newScript("hash-renew", `
if redis.call("HEXISTS", KEYS[1], ARGV[1]) == 1 then
  return redis.call("EXPIRE", KEYS[1], ARGV[2])
end
return 0`)

// TryLock implements Lock. LostC is nil: the timer ends silently.
func (l *reentrantHashWatchdog) TryLock(ctx context.Context) (Lease, error) {
	lease, err := l.reentrantHash.TryLock(ctx)
	if err == nil {
		l.timers.ensure(l.key, func() *watchdog { return startWatchdog(l.client.Context, l.ttl/3, never, l.renew) })
	}
	return lease, err
}

// renew prolongs the hash. It returns false, which ends the timer, only if the field is gone. After
// an error the timer tries again at the next tick. renew waits for a reply until the next tick.
func (l *reentrantHashWatchdog) renew(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, l.ttl/3)
	defer cancel()
	renewed, err := hashRenew.Run(ctx, l.node(), []string{l.key}, l.owner, seconds(l.ttl)).Int64()
	return err != nil || renewed == 1
}

// Unlock implements Lock: it removes one entry. The timer ends only if the reply says that the
// owner has no entry left.
func (l *reentrantHashWatchdog) Unlock(ctx context.Context, _ Lease) error {
	last, err := l.leave(ctx)
	if last || errors.Is(err, ErrNotHeld) {
		l.timers.stop(l.key)
	}
	return err
}
