package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Planning plans the trials of one lock, for programs that run the trials themselves. The probes
// must run first: their results show where faults can strike. A Planning is not safe for concurrent
// use.
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

// Faults returns the names of the chosen faults, in the order in which lockstorm list faults shows
// them.
func (p *Planning) Faults() (names []string) {
	for _, c := range p.cells {
		names = append(names, c.fault.Name)
	}
	return names
}

// Probes returns the fault-free trials that show the lock's commands, one for each workload. They
// are also the first trials of the cell without a fault (nemesis.Undisturbed).
func (p *Planning) Probes() ([]trial.Spec, error) {
	jobs, err := p.planner.probes(p.cells)
	return specsOf(jobs), err
}

// Saw records what a probe showed. The plans of trials with faults depend on these records.
func (p *Planning) Saw(probe trial.Spec, seen nemesis.Sight) {
	p.planner.seen[pair{probe.Lock, probe.Workload}] = seen
}

// Look runs the probes on the testbed, notes what they showed, and returns their specs.
func (p *Planning) Look(ctx context.Context, tb testbed.Testbed) ([]trial.Spec, error) {
	probes, err := p.Probes()
	if err != nil {
		return nil, err
	}
	for _, probe := range probes {
		if err := p.planner.look(ctx, tb, probe); err != nil {
			return nil, err
		}
	}
	return probes, nil
}

// Trials returns the trials under a fault, without probes: named trials first, then drawn ones. It leaves
// out workloads whose probe was not passed to Saw. If the fault cannot strike the lock at all, it returns
// no trials and says why.
func (p *Planning) Trials(fault string) ([]trial.Spec, *nemesis.Unsupported, error) {
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

// PlanTrial returns the spec that a campaign with this configuration gives trial k of a cell. If there
// is a fault, PlanTrial first runs a fault-free trial to find the fault's targets. Each name must select
// exactly one lock, fault or workload. The error is an input.Error if there is no such trial or the
// cell is not supported.
func PlanTrial(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string, k int) (trial.Spec, error) {
	if k < 0 {
		return trial.Spec{}, input.Errorf("%s %d: expected a number from 0", input.Setting("trial"), k)
	}
	p, cell, err := planning(ctx, tb, c, lock, fault, workload)
	if err != nil {
		return trial.Spec{}, err
	}
	s, _, err := p.trial(cell, workload, k)
	if errors.Is(err, nemesis.ErrNotSupported) {
		err = &input.Error{Err: err}
	}
	return s, err
}

// PlanNamed returns the spec of a named schedule of a cell, as a campaign with this configuration
// runs it. The spec does not depend on c.Seed. PlanNamed also knows the schedules of sweeps, even
// if c.Sweep is 0. It first runs the fault-free trial that shows the schedules. The error is an
// input.Error if there is no such schedule or the cell is not supported.
func PlanNamed(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload, schedule string) (trial.Spec, error) {
	p, cell, err := planning(ctx, tb, c, lock, fault, workload)
	if err != nil {
		return trial.Spec{}, err
	}
	p.config.Sweep = mostSweep
	specs, err := p.schedules(cell, workload)
	if err != nil {
		return trial.Spec{}, err
	}
	var names []string
	for _, s := range specs {
		if s.Schedule == schedule {
			return s, nil
		}
		if s.Size == 0 { // leave out a sweep's thousands of names, which differ only in numbers
			names = append(names, s.Schedule)
		}
	}
	if len(names) == 0 {
		return trial.Spec{}, input.Errorf("%s %q: %s under %s (%s) has no named schedules", input.Setting("schedule"), schedule, lock, fault, workload)
	}
	return trial.Spec{}, input.Errorf("%s %q: did you mean %s? there are %d", input.Setting("schedule"), schedule, Nearest(schedule, names), len(names))
}

// planning returns a planner for one cell with one workload, and the cell. It runs the cell's probe
// unless the cell has no fault.
func planning(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string) (*planner, plannedCell, error) {
	if err := trial.CheckClients(c.ClientsAs, tb); err != nil {
		return nil, plannedCell{}, err
	}
	c.Locks, c.Faults, c.Workloads, c.Clean = []string{lock}, []string{fault}, []string{workload}, false
	all, err := planAll(tb, c)
	if err != nil {
		return nil, plannedCell{}, err
	}
	p, cell := all.planner, all.cells[0]
	switch {
	case len(all.cells) > 1 || len(cell.workloads) > 1:
		return nil, cell, input.Errorf("one trial has one lock, fault and workload: got %s, %s and %s", lock, fault, workload)
	case cell.lack != nil:
		return nil, cell, input.Errorf("%s under %s (%s): %s", lock, fault, workload, cell.lack.Error())
	case cell.fault.Undisturbed:
		return p, cell, nil
	}
	probe, err := p.probe(cell.recipe, cell.workloads[0])
	if err == nil {
		err = p.look(ctx, tb, probe.spec)
	}
	return p, cell, err
}

// look runs a probe and notes what it showed.
func (p *planner) look(ctx context.Context, tb testbed.Testbed, probe trial.Spec) error {
	e, err := trial.Run(ctx, tb, probe, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		return fmt.Errorf("probe %s (%s): %w", probe.Lock, probe.Workload, err)
	}
	p.seen[pair{probe.Lock, probe.Workload}] = nemesis.SightOf(e)
	return nil
}
