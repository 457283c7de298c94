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
	// Run runs one task. The error is why no more tasks can run, or ctx's; the trial's
	// outcome, even a failure, is in the Done. If the task asks for it, each command
	// goes to log once its outcome is known.
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
	// Renew makes later tasks run in new processes, where trials have processes of
	// their own.
	Renew()
	// Close ends the pool; no task may be under way.
	Close()
}

// inProcess is a pool in this process.
type inProcess struct {
	bed       testbed.Testbed
	admission *admission
	judging   sync.Mutex // one trial at a time, to leave running trials a core
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

// NewPool returns a pool that runs parallel tasks at a time: in processes of that
// command line or, if it is empty, in this process on tb.
func NewPool(tb testbed.Testbed, argv []string, parallel int) Pool {
	if len(argv) > 0 {
		return newProcesses(argv, parallel)
	}
	return &inProcess{bed: tb, admission: newAdmission(parallel)}
}
