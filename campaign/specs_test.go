package campaign

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
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

func TestSpecsAreThoseOfTheCampaignsTrials(t *testing.T) {
	c := DefaultConfig()
	c.Locks, c.Faults, c.Testbed, c.Store = []string{"set-nx-px", "redlock-drift"}, []string{"none", "client-crash"}, "sim", t.TempDir()
	c.Duration, c.Trials, c.Named, c.Parallel = time.Second, 2, true, 2
	got, err := specsOfAll(t.Context(), sim.New(), c)
	if err != nil {
		t.Fatal(err)
	}
	ran, err := Campaign{Config: c, Testbed: sim.New()}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []trial.Spec
	for _, result := range ran.Trials {
		want = append(want, result.Spec)
	}
	inOrder := func(specs []trial.Spec) []trial.Spec {
		return slices.SortedFunc(slices.Values(specs), func(a, b trial.Spec) int {
			return cmp.Or(cmp.Compare(a.Lock, b.Lock), cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Number(), b.Number()))
		})
	}
	if got, want = inOrder(got), inOrder(want); !reflect.DeepEqual(got, want) {
		t.Errorf("%d specs, want the %d of the campaign", len(got), len(want))
	}
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
