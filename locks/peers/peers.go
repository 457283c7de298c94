package peers

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Recipes returns the recipes of all libraries, in a fixed order.
func Recipes() []locks.Recipe {
	return slices.Concat(redsyncRecipes(), redislockRecipes(), rueidislockRecipes())
}

// Register registers all recipes of this package in the registry of package locks. Call it once in a
// program: a second call panics.
func Register() {
	for _, r := range Recipes() {
		locks.Register(r)
	}
}

// library completes the recipe of a library. claims adds to the claims of a plain lease: one node grants the lock, and
// others get in after the end of the lease. lock makes the handle for a key, whose arguments have been checked; the
// library has no state across keys.
func library(r locks.Recipe, claims func(c *history.Claims, nodes int), lock func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error)) locks.Recipe {
	r.Document, r.Topology = "https://pkg.go.dev/"+r.Library, cmp.Or(r.Topology, locks.Single)
	r.Claims = func(ttl time.Duration, nodes int) history.Claims {
		c := history.Claims{Lock: r.ID, Quorum: 1, TTL: ttl, Recovery: ttl}
		claims(&c, nodes)
		return c
	}
	r.New = func(c *locks.Client) (locks.Maker, error) {
		return func(key string, ttl time.Duration) (locks.Lock, error) {
			if key == "" || ttl < time.Millisecond {
				return nil, fmt.Errorf("lock %q with a lease of %v: expected a name and at least 1ms", key, ttl)
			}
			return lock(c, key, ttl)
		}, nil
	}
	return r
}

// measured declares a bug that campaigns found, once for each oracle. The argument faults lists the
// faults under which campaigns found it. The bug need not show in every run: the seed decides.
func measured(cause, why, source string, faults []string, oracles ...string) []locks.Flaw {
	var all []locks.Flaw
	for _, oracle := range oracles {
		all = append(all, locks.Flaw{Oracle: oracle, Cause: cause, Kind: locks.Bug, Why: why, Source: source, Also: slices.Clone(faults)})
	}
	return all
}
