package worker

import (
	"context"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// Pool runs tasks; its methods may be called concurrently.
type Pool interface {
	// Run runs one task. The trial's outcome, even a failure, is in the Done. The error
	// says why no more tasks can run, or is ctx's. If the task asks for it, each command
	// goes to log once the command's outcome is known.
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
	// Renew makes later tasks run in new processes, if the pool runs tasks in other
	// processes.
	Renew()
	// Close ends the pool; no task may be running.
	Close()
}

// inProcess is a Pool that runs tasks in this process.
type inProcess struct {
	bed       testbed.Testbed
	admission *admission
	judging   sync.Mutex // held while a trial is judged: other running trials need the other cores
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

// NewPool returns a pool that runs the given number of tasks at a time: in processes with
// the command line argv or, if argv is empty, in this process on tb.
func NewPool(tb testbed.Testbed, argv []string, parallel int) Pool {
	if len(argv) > 0 {
		return newProcesses(argv, parallel)
	}
	return &inProcess{bed: tb, admission: newAdmission(parallel)}
}

// NewProcesses is NewPool for worker processes that find out from their environment that they are
// workers. The workers get the environment of this process and env, as "KEY=value".
func NewProcesses(argv, env []string, parallel int) Pool {
	p := newProcesses(argv, parallel)
	p.env = env
	return p
}
