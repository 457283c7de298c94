package locks

import (
	"github.com/lockstorm/lockstorm/history"
)

// redisson-lease is redisson with an explicit lease time, as in lock(leaseTime, unit). D3 says that
// the client holds the lock for just that time. There is no watchdog: the key expires one lease
// after the owner's latest command, whether the work is done or not. That command is an entry, or a
// release that leaves entries. The library reports neither the loss nor a deadline, so the recipe
// claims no deadline.
func init() {
	Register(Recipe{
		ID:       "redisson-lease",
		Document: "D3",
		Summary:  "as redisson with an explicit lease time: without renewal",
		Topology: Single,
		Claims:   claims("redisson-lease", wholeMilliseconds, history.Claims{Reentrant: true}, redissonEnter, redissonLeave),
		Flaws:    flaws(entriesWithoutRenewal("D3"), keysInMovingSlot(), oversleeps()),
		New:      withState(ownerID, func(h handle, owner string) Lock { return &redisson{handle: h, node: h.node(), owner: owner} }),
	})
}
