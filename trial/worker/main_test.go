package worker

import (
	"context"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

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
	trialtest.Main(m, nil, func(ctx context.Context) error { return Serve(ctx, sim.New()) })
}
