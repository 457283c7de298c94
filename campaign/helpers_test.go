package campaign

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// small returns the configuration of a campaign in the simulation with these locks and faults, each
// with commas between them.
func small(t *testing.T, locks, faults string) Config {
	t.Helper()
	c := DefaultConfig()
	c.Testbed, c.Store = "sim", t.TempDir()
	c.Locks, c.Faults = strings.Split(locks, ","), strings.Split(faults, ",")
	return c
}

// mustRun runs a campaign in the simulation, without worker processes.
func mustRun(t *testing.T, c Config) Stored {
	t.Helper()
	return complete(t, Campaign{Config: c, Testbed: sim.New()})
}

// complete runs a campaign to its end.
func complete(t *testing.T, c Campaign) Stored {
	t.Helper()
	s, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// specOf returns the spec that PlanTrial plans.
func specOf(t *testing.T, tb testbed.Testbed, c Config, lock, fault, workload string, k int) trial.Spec {
	t.Helper()
	s, err := PlanTrial(t.Context(), tb, c, lock, fault, workload, k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
