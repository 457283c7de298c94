package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// PlanTrial returns the spec that a campaign with this configuration gives trial
// k of a cell. What a plan aims at is seen in a fault-free trial, which is run
// first if the fault needs it. Names are taken as they are: no globs. The error
// is an InputError if there is no such trial, also where the cell is not supported.
func PlanTrial(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string, k int) (Spec, error) {
	if k < 0 {
		return Spec{}, Inputf("--trial %d: expected a number from 0", k)
	}
	p, cell, err := planning(ctx, tb, c, lock, fault, workload)
	if err != nil {
		return Spec{}, err
	}
	s, _, err := p.trial(cell, workload, k)
	if errors.Is(err, nemesis.ErrNotSupported) {
		err = &InputError{err}
	}
	return s, err
}

// planning is a planner that can plan the trials of one cell with one workload,
// and that cell.
func planning(ctx context.Context, tb testbed.Testbed, c Config, lock, fault, workload string) (*planner, plannedCell, error) {
	c = c.filled(modest)
	if err := c.check(); err != nil {
		return nil, plannedCell{}, err
	}
	if err := checkClients(c.ClientsAs, tb); err != nil {
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

// only is the cell of that lock and fault, with that workload only.
func (p *planner) only(lock, fault, workload string) (plannedCell, error) {
	recipe, err := chosen("lock", []string{lock}, locks.All(), func(r locks.Recipe) string { return r.ID })
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
		return plannedCell{}, Inputf("one trial has one lock, fault and workload: got %s, %s and %s", lock, fault, workload)
	}
	if err := p.checkTopology(); err != nil {
		return plannedCell{}, err
	}
	cell := p.cell(recipe[0], f[0], body)
	if cell.lack != nil {
		return cell, Inputf("%s under %s (%s): %s", lock, fault, workload, cell.lack.Sentence())
	}
	return cell, nil
}

// look runs the probe of a recipe under a workload.
func (p *planner) look(ctx context.Context, tb testbed.Testbed, r locks.Recipe, workload string) error {
	probe, err := p.probe(r, workload)
	if err != nil {
		return err
	}
	e, err := RunTrial(ctx, tb, probe.spec, history.NewRecorder(nil, tb.Clock()), nil)
	if err != nil {
		return fmt.Errorf("probe %s (%s): %w", r.ID, workload, err)
	}
	p.seen[pair{r.ID, workload}] = sightOf(e)
	return nil
}

// Replay is one trial that is run again.
type Replay struct {
	Testbed testbed.Testbed
	Spec    Spec
	// Dir is the folder that the trial is stored in, made if it is not there;
	// "" = it is not stored.
	Dir string
	// Log receives each command when it is known how it ended; nil = nobody does.
	Log func(history.Command)
	// Worker is the command line of a worker process to run the trial in, as in
	// Campaign; nil = this process, which a panic of the code under test ends.
	Worker []string
}

// Run runs the trial and judges it. What the recipe did wrong is in the trial's
// verdicts; the error is the harness's, also beside a trial, or an InputError if
// the spec names a lock or a workload that there is not.
func (r Replay) Run(ctx context.Context) (t Trial, e history.Evidence, err error) {
	if _, err := r.Spec.recipe(); err != nil {
		return t, e, err
	}
	if err := checkClients(r.Spec.ClientsAs, r.Testbed); err != nil {
		return t, e, err
	}
	folder := r.Dir
	if folder == "" {
		if folder, err = os.MkdirTemp("", "lockstorm-replay-"); err != nil {
			return t, e, fmt.Errorf("replay: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	w := newWorkers(r.Testbed, r.Worker, 1)
	d, err := w.run(ctx, task{Spec: r.Spec, Folder: folder, Keep: true, Log: r.Log != nil}, r.Log)
	if w.close(); err != nil {
		return t, e, err
	}
	t = d.Trial
	t.Spec, t.Acquires = r.Spec, d.Acquires
	record, err := LoadRecord(folder)
	if err == nil && t.Err != "" {
		err = errors.New(t.Err)
	}
	return t, record.Evidence, err
}
