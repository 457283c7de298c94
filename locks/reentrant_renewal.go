package locks

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// reentrantRenewal is D3's whole class RedisDistributedLock: the re-entry of reentrant-local and
// the renewal of set-nx-ex-bounded-renewal, for every lock of a client process. It has the flaws of
// both: re-entry never asks Redis; renewals come a whole lease apart and end after the fourth; the
// last release of one lock ends the renewal of all other locks; an eleventh renewal waits for a
// thread while its key expires; a slow call for one key delays the calls for all other keys.
//
// D3's pool of threads is static, one for each process. So the recipe's state belongs to the client
// process, which has one RedisDistributedLock (localLocks).
//
// TryLock returns ErrBusy after an error too (then also ErrPresumed). Unlock returns ErrRefused if
// the owner has no entry. Otherwise it returns nil, whatever Redis replied.
type reentrantRenewal struct{ localLock }

func init() {
	Register(Recipe{
		ID:       "reentrant-renewal",
		Document: "D3",
		Summary: "entered before: count+1, else SET key token EX s NX · count-1, at 0 Lua: compare and delete · " +
			"Lua: compare and EXPIRE at 0, TTL, 2 TTL and 3 TTL, ten renewals of a client at a time",
		Topology:  Single,
		Claims:    claims("reentrant-renewal", wholeSeconds, history.Claims{Reentrant: true, Renews: true}, compareAndDelete, compareAndExpire),
		Flaws:     reentrantRenewalFlaws,
		Unrenewed: "reentrant-local",
		New:       withState(newLocalLocks, func(h handle, all *localLocks) Lock { return &reentrantRenewal{localLock{h, all, true}} }),
	})
}

var reentrantRenewalFlaws = flaws(
	reenteredLocally("client-pause"), boundedRenewalFails(),
	may([]string{"hung-work", mixed}, under([]string{"slow-work"}, "renewal-failed", Bug,
		"Re-entry counts in the client's memory and never asks Redis: when its work has outlasted the four renewals, the owner re-enters a lock that another holds.",
		"D3: a count greater than zero is all that is asked, and four renewals", "reentrancy")),
	// Some schedules of these faults also freeze a holder. Then its critical section may overrun the
	// lease, and the bounded renewal does not keep the lease.
	may(slices.Concat(losingFaults, delayingFaults), leaseOutlived()),
	serverClock(), prolongedKey(), serverLostKey(), orphanedKey(),
)
