package campaign

import (
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Planning plans the trials of one lock, for programs that run the trials themselves: the
// probes come first, and their results show where faults can strike. It is not safe for
// concurrent use.
type Planning struct {
	planner *planner
	cells   []plannedCell
}

// NewPlanning checks the configuration, which names one lock, and plans its cells. The
// error is an input.Error if the configuration is invalid.
func NewPlanning(tb testbed.Testbed, c Config) (*Planning, error) {
	p, err := planAll(tb, c)
	if err == nil && len(p.planner.config.Locks) != 1 {
		return nil, input.Errorf("%d locks: expected one", len(p.planner.config.Locks))
	}
	return p, err
}

// planAll is NewPlanning for any number of locks.
func planAll(tb testbed.Testbed, c Config) (*Planning, error) {
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
	return &Planning{p, cells}, nil
}

// Faults returns the chosen faults, in the order of lists.
func (p *Planning) Faults() (names []string) {
	for _, c := range p.cells {
		names = append(names, c.fault.Name)
	}
	return names
}

// Probes returns the fault-free trials that show the lock's commands, one for each
// workload. They are also the first trials under the fault that does nothing.
func (p *Planning) Probes() ([]trial.Spec, error) {
	jobs, err := p.planner.probes(p.cells)
	return specsOf(jobs), err
}

// Saw notes what a probe showed.
func (p *Planning) Saw(probe trial.Spec, seen trial.Sight) {
	p.planner.seen[pair{probe.Lock, probe.Workload}] = seen
}

// Trials returns the trials under a fault, without probes: first named, then drawn ones. A
// workload whose probe has not been seen has none. If the fault cannot strike the lock at
// all, there are none, and the Lack says why.
func (p *Planning) Trials(fault string) ([]trial.Spec, *trial.Lack, error) {
	for i, c := range p.cells {
		if c.fault.Name == fault {
			jobs, err := p.planner.jobs(p.cells[i : i+1])
			return specsOf(jobs), p.cells[i].lack, err
		}
	}
	return nil, nil, input.Errorf("fault %q is not planned", fault)
}

func specsOf(jobs []job) (specs []trial.Spec) {
	for _, j := range jobs {
		specs = append(specs, j.spec)
	}
	return specs
}
