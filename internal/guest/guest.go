// Package guest has the simulation for code that was not written for it: locks and Redis
// clients of users.
package guest

import (
	"context"
	"runtime"

	"github.com/lockstorm/lockstorm/internal/entropy"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// Bed is the simulation for code that was not written for it. It runs one trial at a time.
//
// A trial runs in a synctest bubble, and what belongs to one bubble must not be used in
// another. A sync.Pool of the code under test can carry a timer or a channel over: go-redis,
// for one, takes the timer for a wait for a place in its connection pool from a sync.Pool,
// and the second bubble that waits would die ("select on synctest channel from outside
// bubble"). A sync.Pool forgets what two garbage collections in a row found unused, so each
// trial begins with two.
type Bed struct {
	*sim.Testbed
	// Seeds is for trials in the caller's process. Before each trial, the global generators of
	// random numbers are seeded, and a trial that does not go on ends with an error. A worker
	// process seeds them itself, and is watched from outside.
	Seeds bool
}

// Run implements testbed.Testbed.
func (b Bed) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	emptyPools()
	if b.Seeds {
		entropy.Seed(s.Seed)
		return b.watched(ctx, s, body)
	}
	return b.Testbed.Run(ctx, s, body)
}

// emptyPools makes every sync.Pool of the process forget its values.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}
