package campaign

import (
	"context"
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// workers run tasks; calls may come at the same time.
type workers interface {
	// run runs one. The error is why the campaign cannot go on, or ctx's; what
	// became of a trial, also that it failed, is in done.
	run(ctx context.Context, t task, log func(history.Command)) (done, error)
	// renew makes the tasks that follow run in other processes than those before,
	// where that can be.
	renew()
	// close ends them; no task may be under way.
	close()
}

// inProcess are workers in this process.
type inProcess struct {
	bed      testbed.Testbed
	entrance *entrance
	judging  sync.Mutex // one trial at a time, so that running trials keep a core
}

func (w *inProcess) run(ctx context.Context, t task, log func(history.Command)) (done, error) {
	enter, err := w.entrance.wait(ctx, w.bed, t.Spec)
	if err != nil {
		return done{}, err
	}
	defer enter.exit()
	defer enter.leave()
	return execute(ctx, enter, t, &w.judging, log)
}

func (w *inProcess) renew() {}
func (w *inProcess) close() {}

// newWorkers are processes of that command line, or this process if there is none.
func newWorkers(tb testbed.Testbed, argv []string, parallel int) workers {
	if len(argv) > 0 {
		return newProcesses(argv, parallel)
	}
	return &inProcess{bed: tb, entrance: newEntrance(parallel)}
}
