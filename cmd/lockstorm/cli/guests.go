package cli

import (
	"context"
	"regexp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// recipeID matches IDs that are valid in --locks, in a folder's name and in a URL.
var recipeID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

// register adds a user's recipes to the registry and fills unset fields with defaults. The error
// is an input.Error about the first recipe that cannot be used.
func register(recipes []locks.Recipe) error {
	for _, r := range recipes {
		switch _, known := locks.ByID(r.ID); {
		case !recipeID.MatchString(r.ID):
			return input.Errorf("recipe %q: expected an ID of letters, digits and . _ + -", r.ID)
		case known:
			return input.Errorf("recipe %q: another recipe has this ID (lockstorm list locks)", r.ID)
		case r.New == nil:
			return input.Errorf("recipe %q: expected a function New", r.ID)
		}
		r.Own = r.Library == ""
		if r.Topology == "" {
			r.Topology = locks.Single
		}
		if r.Claims == nil {
			r.Claims = plainClaims
		}
		if r.Flaws == nil {
			claims := r.Claims(time.Second, 1)
			r.Flaws = locks.Limits(locks.Known{Fenced: claims.Fenced, Renews: claims.Renews, Reentrant: claims.Reentrant})
		}
		locks.Register(r)
	}
	return nil
}

// plainClaims are the claims of a lock that a majority of nodes grants and whose lease expires by
// itself.
func plainClaims(ttl time.Duration, nodes int) history.Claims {
	return history.Claims{Quorum: nodes/2 + 1, TTL: ttl, Recovery: ttl}
}

// forGuests returns the testbeds adapted to users' own locks: sim.Guest replaces the simulation.
func forGuests(all []testbedChoice) []testbedChoice {
	all = slices.Clone(all)
	for i, c := range all {
		if c.Virtual {
			all[i].New = func(context.Context, testbedFlags) (testbed.Testbed, error) {
				return sim.Guest{Testbed: sim.New()}, nil
			}
		}
	}
	return all
}
