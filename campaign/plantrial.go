package campaign

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// PlanTrial returns the spec that a campaign with this configuration gives trial k of a
// cell. If the plan needs it, a fault-free trial runs first, to find targets. Names are
// literal: no globs. The error is an input.Error if there is no such trial or the cell
// is not supported.
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

// planning returns a planner for one cell with one workload, and that cell.
func planning(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string) (*planner, plannedCell, error) {
	c = c.filled(modest)
	if err := c.check(); err != nil {
		return nil, plannedCell{}, err
	}
	if err := trial.CheckClients(c.ClientsAs, tb); err != nil {
		return nil, plannedCell{}, err
	}
	p := newPlanner(c, tb)
	cell, err := p.only(lock, fault, workload)
	if err == nil {
		err = p.sensible(cell)
	}
	if err == nil && !cell.fault.Undisturbed {
		err = p.look(ctx, tb, cell.recipe, workload)
	}
	return p, cell, err
}

// only returns the cell of that lock and fault, with that workload alone.
func (p *planner) only(lock, fault, workload string) (plannedCell, error) {
	recipe, err := Recipes([]string{lock})
	if err != nil {
		return plannedCell{}, err
	}
	f, err := chosen("fault", []string{fault}, nemesis.All(), func(f nemesis.Fault) string { return f.Name })
	if err != nil {
		return plannedCell{}, err
	}
	body, err := chosen("workload", []string{workload}, workloads.All(), func(w workloads.Workload) string { return w.Name })
	if err != nil {
		return plannedCell{}, err
	}
	if len(recipe) > 1 || len(f) > 1 || len(body) > 1 {
		return plannedCell{}, input.Errorf("one trial has one lock, fault and workload: got %s, %s and %s", lock, fault, workload)
	}
	if err := p.checkTopology(); err != nil {
		return plannedCell{}, err
	}
	cell := p.cell(recipe[0], f[0], body)
	if cell.lack != nil {
		return cell, input.Errorf("%s under %s (%s): %s", lock, fault, workload, cell.lack.Sentence())
	}
	return cell, nil
}

// look runs the probe of a recipe under a workload.
func (p *planner) look(ctx context.Context, tb testbed.Testbed, r locks.Recipe, workload string) error {
	probe, err := p.probe(r, workload)
	if err != nil {
		return err
	}
	e, err := trial.Run(ctx, tb, probe.spec, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		return fmt.Errorf("probe %s (%s): %w", r.ID, workload, err)
	}
	p.seen[pair{r.ID, workload}] = trial.SightOf(e)
	return nil
}
