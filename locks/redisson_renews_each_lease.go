package locks

import (
	"github.com/lockstorm/lockstorm/history"
)

func init() {
	Register(Recipe{
		ID:        "redisson-renews-each-lease",
		Document:  "D3",
		Summary:   "as redisson · as redisson · every TTL Lua: own: PEXPIRE",
		Topology:  Single,
		Claims:    claims("redisson-renews-each-lease", wholeMilliseconds, history.Claims{Reentrant: true, Renews: true}, redissonEnter, redissonLeave, redissonRenew),
		Flaws:     redissonRenewsEachLeaseFlaws,
		Unrenewed: "redisson-lease",
		New:       withState(newRedissonRenewals, newRedissonRenewsEachLease),
	})
}

// newRedissonRenewsEachLease makes Redisson's RLock with the watchdog as D3 words it. With a
// default lease of 30 s, the watchdog checks "every 30 s" whether the lock was released. If the lock
// is still held, the watchdog prolongs it.
//
// The flaw: every renewal races the key's expiry. The client sends the first renewal a whole lease
// after it got the grant's reply. When the renewal reaches the node, the key's lease has been over
// for one round trip. Redis counts in milliseconds, so a renewal may still come in time if the round
// trip is shorter than a millisecond. A missing key is not renewed: the script answers 0, and the
// watchdog ends. The library is right: it renews after a third of a lease.
//
// docs/measurements.md compares redisson with this recipe.
func newRedissonRenewsEachLease(h handle, r *redissonRenewals) Lock {
	return &redisson{handle: h, node: h.node(), owner: r.owner, every: h.ttl, renewals: r}
}

var redissonRenewsEachLeaseFlaws = flaws(
	renewalFailed(Bug,
		"A renewal that is sent a whole lease after the grant races the key's expiry; the first renewal that comes too late ends the watchdog.",
		"D3, Redisson: every 30 s, with a lease of 30 s", anyFault...),
	may(append([]string{"failover"}, delayingFaults...), leaseOutlived()),
	rarely("liveness", "orphaned-key", []string{"node-restart"}, redissonFlaws),
)
