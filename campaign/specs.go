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
	p, err := planAll(tb, c)
	if err != nil {
		return nil, err
	}
	specs, err := p.Probes()
	if err != nil {
		return nil, err
	}
	for _, probe := range specs {
		recipe, err := probe.Recipe()
		if err != nil {
			return nil, err
		}
		if err := p.planner.look(ctx, tb, recipe, probe.Workload); err != nil {
			return nil, err
		}
	}
	jobs, err := p.planner.jobs(p.cells)
	return append(specs, specsOf(jobs)...), err
}
