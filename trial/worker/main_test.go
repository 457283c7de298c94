package worker

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// asWorker is set in the environment of this program when it is to be a worker.
const asWorker = "LOCKSTORM_TEST_WORKER"

func soundSpec() trial.Spec {
	return trial.Spec{
		Lock: "set-nx-px", Workload: "mutex", Fault: nemesis.Undisturbed().Name, Testbed: "sim", Topology: testbed.Single,
		Options: workloads.Options{
			Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
			Retry: 25 * time.Millisecond, Duration: 2 * time.Second, Margin: 500 * time.Millisecond, Seed: 7,
		},
	}
}

// TestMain fails the package if a goroutine outlives the tests.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := Serve(context.Background(), sim.New()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
