package campaign

import (
	"context"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Specs returns the specs of all trials of a campaign with this configuration: first
// the fault-free probes, which run before the others, then named, then drawn trials.
// The error is an input.Error if the configuration is invalid.
func Specs(ctx context.Context, tb testbed.Testbed, c Config) ([]trial.Spec, error) {
	c = c.filled(modest)
	if err := c.check(); err != nil {
		return nil, err
	}
	p := newPlanner(c, tb)
	cells, err := p.cells()
	if err == nil {
		err = p.sensible(cells...)
	}
	if err != nil {
		return nil, err
	}
	probes, err := p.probes(cells)
	if err != nil {
		return nil, err
	}
	var specs []trial.Spec
	for _, probe := range probes {
		recipe, err := probe.spec.Recipe()
		if err != nil {
			return nil, err
		}
		if err := p.look(ctx, tb, recipe, probe.spec.Workload); err != nil {
			return nil, err
		}
		specs = append(specs, probe.spec)
	}
	jobs, err := p.jobs(cells)
	for _, j := range jobs {
		specs = append(specs, j.spec)
	}
	return specs, err
}
