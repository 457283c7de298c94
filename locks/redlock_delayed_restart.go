package locks

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// redlock-delayed-restart is redlock-drift on nodes that stay away for one lease
// after they restarted without their data (redis.io, "Distributed Locks with
// Redis": "Performance, Crash Recovery and fsync"): whatever they had granted is
// over when they vote again. The client does nothing else than with
// redlock-drift; it is the operator who keeps the promise, Claims.Away.
//
// Eviction is a restart that nobody sees: it still makes a node vote twice.
func init() {
	Register(Recipe{
		ID:       "redlock-delayed-restart",
		Document: "R",
		Summary:  "as redlock-drift, on nodes that stay away for TTL after they restarted without their data",
		Topology: Independent,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			claims := redlockDriftClaims("redlock-delayed-restart", ttl, nodes)
			claims.Away = wholeMilliseconds(ttl)
			return claims
		},
		Flaws: flaws(redlockDriftFlaws, quorumLostKey("eviction")),
		New:   onOneNode(newRedlockDrift),
	})
}
