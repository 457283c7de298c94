package bench

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// poor is the simulation with a single node.
type poor struct{ *sim.Testbed }

func (poor) Topologies() []testbed.Topology { return []testbed.Topology{testbed.Single} }

func recipe(t *testing.T, id string) locks.Recipe {
	t.Helper()
	r, ok := locks.ByID(id)
	if !ok {
		t.Fatalf("no recipe %s", id)
	}
	return r
}

func small(t *testing.T, ids ...string) Config {
	c := Config{Baseline: recipe(t, "set-nx-px"), Testbed: "sim", Clients: 2, TTL: 100 * ms, Duration: 100 * ms, Seed: 7}
	for _, id := range ids {
		c.Locks = append(c.Locks, recipe(t, id))
	}
	return c
}

func TestEachLockHasATrialAloneAndAContendedOne(t *testing.T) {
	var last [2]int
	r, err := Run(t.Context(), poor{sim.New()}, small(t, "set-nx-px"), func(done, all int) { last = [2]int{done, all} })
	if err != nil || len(r.Locks) != 1 {
		t.Fatalf("%d locks, %v", len(r.Locks), err)
	}
	for name, f := range r.Locks[0].Figures {
		if f.Value == nil {
			t.Errorf("%s is %+v, want a value", name, f)
		}
	}
	if last != [2]int{2, 2} {
		t.Errorf("the last progress was %v, want 2 of 2 trials", last)
	}
}

func TestInvalidConfigurationsAreTheUsersErrors(t *testing.T) {
	tests := map[string]struct {
		tb    testbed.Testbed
		spoil func(*Config)
	}{
		"one client alone":                {sim.New(), func(c *Config) { c.Clients = 1 }},
		"too short a lease":               {sim.New(), func(c *Config) { c.TTL, c.Duration = 99*ms, time.Second }},
		"less time than a lease":          {sim.New(), func(c *Config) { c.Duration = 99 * ms }},
		"too great a seed":                {sim.New(), func(c *Config) { c.Seed = 1 << 60 }},
		"nodes that the testbed lacks":    {poor{sim.New()}, func(c *Config) { c.Locks = append(c.Locks, recipe(t, "redlock")) }},
		"replicas that the testbed lacks": {poor{sim.New()}, func(c *Config) { c.Locks = append(c.Locks, recipe(t, "set-nx-px-wait")) }},
	}
	for name, test := range tests {
		c := small(t)
		test.spoil(&c)
		_, err := Run(t.Context(), test.tb, c, nil)
		if bad := (*input.Error)(nil); !errors.As(err, &bad) {
			t.Errorf("%s: %v; want an input.Error", name, err)
		}
	}
}

func TestReadWriteLocksExcludeAsTheOthersDo(t *testing.T) {
	c := small(t)
	s, err := c.spec(t.Context(), sim.New(), recipe(t, "rw-hash-owners"), 0)
	if err != nil || s.Workload != "read-write" || !s.Options.Writers {
		t.Errorf("workload %s, writers only: %v, %v", s.Workload, s.Options.Writers, err)
	}
	base, err := c.spec(t.Context(), sim.New(), c.Baseline, 0)
	if err != nil || base.Workload != "mutex" || base.Seed != s.Seed || base.Options.Seed != s.Options.Seed {
		t.Errorf("the baseline: workload %s, seeds %d and %d, want mutex and those of the other lock, %d; %v", base.Workload, base.Seed, base.Options.Seed, s.Seed, err)
	}
}
