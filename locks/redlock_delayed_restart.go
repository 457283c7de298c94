package locks

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// redlock-delayed-restart is redlock-drift on nodes that stay away for one lease after they
// restarted without their data (redis.io, "Distributed Locks with Redis": "Performance, Crash
// Recovery and fsync"): all their earlier grants have expired when they grant the lock again. The
// client's code is that of redlock-drift. The operator must keep the nodes away; Claims.Away states
// this promise.
//
// An eviction is an unnoticed loss of data: it still makes a node grant the lock twice.
func init() {
	Register(Recipe{
		ID:       "redlock-delayed-restart",
		Document: "R",
		Summary:  "as redlock-drift, on nodes that stay away for TTL after they restarted without their data",
		Topology: Independent,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			claims := redlockDriftClaims("redlock-delayed-restart")(ttl, nodes)
			claims.Away = wholeMilliseconds(ttl)
			return claims
		},
		Flaws: flaws(redlockDriftFlaws, quorumLostKey("eviction")),
		New:   onOneNode(newRedlockDrift),
	})
}
