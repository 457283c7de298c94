package sim

import (
	"context"
	"runtime"

	"github.com/lockstorm/lockstorm/internal/entropy"
	"github.com/lockstorm/lockstorm/testbed"
)

// Guest is the simulation for code that was not written for it. Its trials must run one at a time.
//
// A trial runs in a synctest bubble, and an object of one bubble must not be used in another. But
// a sync.Pool of the code under test can carry a timer or a channel into a later bubble. For
// example, go-redis keeps, in a sync.Pool, the timers with which it waits for a place in its
// connection pool. Without precaution, the second bubble that waits would die ("select on synctest
// channel from outside bubble"). A sync.Pool drops values that stay unused during two garbage
// collections in a row, so each trial begins with two.
type Guest struct {
	*Testbed
	// Seeds is for trials in the caller's process. It makes Run seed the global random number
	// generators before each trial, and end a trial that makes no progress with an error. A worker
	// process seeds the generators itself, and is watched from outside.
	Seeds bool
}

// Run implements testbed.Testbed.
func (b Guest) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
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
