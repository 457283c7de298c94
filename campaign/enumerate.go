package campaign

import (
	"context"

	"github.com/lockstorm/lockstorm/testbed"
)

// NamedTrials returns the specs of all named schedules of a cell under a
// workload, as a campaign with this configuration runs them, whatever its seed;
// none if the fault has nothing that could be enumerated. The fault-free trial
// that shows which schedules there are is run first. The error is an InputError
// if the cell is not supported.
func NamedTrials(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string) ([]Spec, error) {
	p, cell, err := planning(ctx, tb, c, lock, fault, workload)
	if err != nil {
		return nil, err
	}
	return p.schedules(cell, workload)
}
