package locktest

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Recipe turns a Subject into a recipe with this id, for lockstorm.Main. A lockstorm program with
// this recipe compares the lock with other locks, on every testbed. The options say what the lock
// promises and what is required of it. The command line sets the lease and how much is tried
// (--ttl, --command-timeout for Patience, --faults, --trials, --seed). If the lock gives up a command
// sooner than after a tenth of its lease, wrap the Claims of the result and set Claims.Timeout: on a
// busy machine, real Redis otherwise seems to show violations.
//
// Recipe itself runs one to three trials without any fault in this process. They show which features
// the lock's leases have. A panic in a goroutine that the lock's code starts ends the process. Every
// later trial of the recipe fails with an error if nobody can acquire the lock in these first trials,
// if one of them hangs (see Check), or if an option is invalid or the lock does not keep it.
// While Recipe runs, crypto/rand of the process is seeded, as in Check.
func Recipe(id string, subject Subject, options ...Option) locks.Recipe {
	var o Options
	for _, set := range options {
		set(&o)
	}
	// The trials below register the lock under this name. The name id could be that of a built-in
	// recipe.
	l := lock{name: "locktest.Recipe " + id, make: subject, Options: o}
	var found traits
	err := l.here(context.Background(), func(s *session) error {
		err := s.findTraits(context.Background())
		found = s.traits
		return err
	})
	if err != nil {
		l.make = func(*Client) (Acquire, error) { return nil, err }
	}
	r := l.recipe(found)
	r.ID, r.Summary = id, "tested by its own code"
	claims := r.Claims
	r.Claims = func(ttl time.Duration, nodes int) history.Claims {
		c := claims(ttl, nodes)
		c.Lock = id
		return c
	}
	return r
}
