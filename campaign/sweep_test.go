package campaign

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

func sweepConfig(t *testing.T) Config {
	c := DefaultConfig()
	c.Locks, c.Faults, c.Testbed, c.Store = []string{"set-nx-px"}, []string{"client-pause"}, "sim", t.TempDir()
	c.Named, c.NamedOnly, c.Sweep = true, true, 1
	return c
}

// sweptTrials returns the named trials of set-nx-px under client-pause, including the sweep's.
func sweptTrials(ctx context.Context, c Config) ([]trial.Spec, error) {
	p, cell, err := planning(ctx, sim.New(), c, "set-nx-px", "client-pause", "mutex")
	if err != nil {
		return nil, err
	}
	return p.schedules(cell, "mutex")
}

// A sweep adds its trials after the other named trials, and drops none of these.
func TestASweepComesAfterTheNamedTrials(t *testing.T) {
	c := sweepConfig(t)
	named := func(sweep int) (without, swept []trial.Spec) {
		c.Sweep = sweep
		all, err := sweptTrials(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		first := len(all)
		if i := slices.IndexFunc(all, func(s trial.Spec) bool { return s.Size != 0 }); i >= 0 {
			first = i
		}
		return all[:first], all[first:]
	}
	plain, none := named(0)
	before, swept := named(2)
	if len(none) > 0 || len(swept) == 0 || len(plain) != len(before) {
		t.Fatalf("%d and %d trials without a sweep, %d and %d with one", len(plain), len(none), len(before), len(swept))
	}
	for _, s := range swept {
		if s.Size == 0 || !s.Named() || !strings.Contains(s.Schedule, ".size") {
			t.Errorf("%s has size %v", s.Schedule, s.Size)
		}
	}
}

func TestATrialOfASweepCanBeReplayed(t *testing.T) {
	c := sweepConfig(t)
	all, err := sweptTrials(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	want := all[len(all)-1]
	c.Sweep = 0 // the command line of a replay does not set Sweep
	got, err := PlanNamed(t.Context(), sim.New(), c, want.Lock, want.Fault, want.Workload, want.Schedule)
	if err != nil || got.Seed != want.Seed || got.Size != want.Size || got.Trial != want.Trial || got.Plan[0].For != want.Plan[0].For {
		t.Errorf("got %+v and %v, want %+v", got, err, want)
	}
	_, err = PlanNamed(t.Context(), sim.New(), c, want.Lock, want.Fault, want.Workload, "hold-1of9")
	if err == nil || strings.Contains(err.Error(), "size") {
		t.Errorf("an unknown schedule: got %v, want an error that suggests no schedule of a sweep", err)
	}
}
