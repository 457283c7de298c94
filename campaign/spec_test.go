package campaign

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// recorder returns a recorder whose clock starts now. In a synctest bubble, its time is virtual.
func recorder() *history.Recorder {
	start := time.Now()
	return history.NewRecorder(nil, func() time.Duration { return time.Since(start) })
}

func soundSpec() trial.Spec {
	return trial.Spec{
		Lock: trialtest.Sound, Workload: "mutex", Fault: undisturbed, Testbed: "fake", Topology: testbed.Single,
		Options: workloads.Options{
			Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
			Retry: 25 * time.Millisecond, Duration: 2 * time.Second, Margin: 500 * time.Millisecond, Seed: 7,
		},
	}
}
