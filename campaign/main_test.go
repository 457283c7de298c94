package campaign

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/internal/fakebed"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// asWorker is set in the environment of this program when it is to be a worker.
const asWorker = "LOCKSTORM_TEST_WORKER"

// asClient is set there when it is to be a client process.
const asClient = "LOCKSTORM_TEST_CLIENT"

// undisturbed is the fault that does nothing.
var undisturbed = nemesis.Undisturbed().Name

// The locks in memory count as recipes of a user's test.
func init() {
	for _, r := range fakebed.Recipes() {
		open := r.New
		r.New = func(c *locks.Client) (locks.Maker, error) { return open(c) }
		locks.Register(r)
	}
}

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(asClient) != "":
		err = trial.ServeClient(context.Background())
	case os.Getenv(asWorker) != "":
		err = worker.Serve(context.Background(), sim.New())
	default:
		goleak.VerifyTestMain(m)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
