package worker

import (
	"context"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Pool runs tasks; calls may come at the same time.
type Pool interface {
	// Run runs one task. The error is why no task can be run any more, or ctx's; what
	// became of the trial, also that it failed, is in the Done. Each command goes to log
	// when it is known how it ended, if the task asks for that.
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
	// Renew makes the tasks that follow run in other processes than those before,
	// where the trials have processes of their own.
	Renew()
	// Close ends the pool; no task may be under way.
	Close()
}

// inProcess is a pool in this process.
type inProcess struct {
	bed       testbed.Testbed
	admission *admission
	judging   sync.Mutex // one trial at a time, so that running trials keep a core
}

// Run implements Pool.
func (w *inProcess) Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error) {
	enter, err := w.admission.wait(ctx, w.bed, t.Spec)
	if err != nil {
		return trial.Done{}, err
	}
	defer enter.exit()
	defer enter.leave()
	return trial.Execute(ctx, enter, t, &w.judging, log)
}

// Renew implements Pool.
func (w *inProcess) Renew() {}

// Close implements Pool.
func (w *inProcess) Close() {}

// NewPool returns a pool that runs so many tasks at a time: in processes of that command
// line, or in this process, on tb, if there is none.
func NewPool(tb testbed.Testbed, argv []string, parallel int) Pool {
	if len(argv) > 0 {
		return newProcesses(argv, parallel)
	}
	return &inProcess{bed: tb, admission: newAdmission(parallel)}
}
