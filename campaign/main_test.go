package campaign

import (
	"context"
	"testing"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// undisturbed is the fault that does nothing.
var undisturbed = nemesis.Undisturbed().Name

// init registers the in-memory locks of package fakebed. Each gets a function New of this package,
// so that it counts as code of a user's test.
func init() {
	for _, r := range trialtest.Recipes() {
		open := r.New
		r.New = func(c *locks.Client) (locks.Maker, error) { return open(c) }
		locks.Register(r)
	}
}

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	trialtest.Main(m, trial.ServeClient, func(ctx context.Context) error { return worker.Serve(ctx, sim.New()) })
}
