package campaign

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// specsOfAll returns the specs of all trials of a campaign with this configuration: probes, then
// named trials, then drawn trials.
func specsOfAll(ctx context.Context, tb testbed.Testbed, c Config) ([]trial.Spec, error) {
	p, err := planAll(tb, c)
	if err != nil {
		return nil, err
	}
	specs, err := p.Look(ctx, tb)
	if err != nil {
		return nil, err
	}
	jobs, err := p.planner.jobs(p.cells)
	return append(specs, specsOf(jobs)...), err
}

func TestSpecsRefuseWhatMakesNoSense(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Locks = []string{"no-such-lock"} },
		func(c *Config) { c.Parallel = -1 },
		func(c *Config) { c.Locks, c.Hold = []string{"set-nx-px"}, time.Hour },
	} {
		c := DefaultConfig()
		change(&c)
		if _, err := specsOfAll(t.Context(), sim.New(), c); !errors.As(err, new(*input.Error)) {
			t.Errorf("locks %q, parallel %d, hold %v: %v, want an InputError", c.Locks, c.Parallel, c.Hold, err)
		}
	}
}
