package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/entropy"
	"github.com/lockstorm/lockstorm/internal/goroutines"
	"github.com/lockstorm/lockstorm/internal/guest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// Recipe returns a Subject as a recipe with this id, for lockstorm.Main: what Run tests, a
// lockstorm of one's own compares with other locks, on every testbed. The options say what
// the lock promises and what is required of it; how much is tried, and the lease, are up to
// the command line (--ttl, --command-timeout for Patience, --faults, --trials, --seed).
//
// Recipe runs one to three trials without any fault in this process, at the program's start,
// to learn what leases of the lock have. A panic in a goroutine that the lock's code starts ends
// the process. If nobody can acquire the lock there, if a trial does not go on (see Check), or
// if an option is not kept, every trial of the recipe fails with that error. While Recipe runs,
// crypto/rand of the process is seeded, as in Check.
func Recipe(id string, subject Subject, options ...Option) locks.Recipe {
	var o Options
	for _, set := range options {
		set(&o)
	}
	// Under the recipe's own name, what is built in could be in the way.
	l := lock{name: "locktest.Recipe " + id, make: subject, Options: o}
	found, err := l.traits()
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

// traits finds out what leases of the lock have.
func (l lock) traits() (traits, error) {
	var err error
	l.Options, err = l.filled()
	switch {
	case err != nil:
		return traits{}, err
	case l.make == nil:
		return traits{}, errNoSubject
	case goroutines.Bubble() != "":
		return traits{}, errBubble
	}
	checking <- struct{}{}
	defer func() { <-checking }()
	defer entropy.Unseed()
	defer l.register()()
	s, err := newSession(l, worker.NewPool(guest.Bed{Testbed: sim.New(), Seeds: true}, nil, 1), 1)
	if err != nil {
		return traits{}, err
	}
	err = s.look(context.Background())
	return s.traits, errors.Join(err, s.close())
}
