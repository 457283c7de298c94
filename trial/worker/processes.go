package worker

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/trial"
)

// trialLimit is how much processor time a trial may take in a worker. A usual
// one takes some milliseconds.
const trialLimit = time.Minute

// processes are workers each of which is a process of its own. One that dies is
// replaced, and its trial is run once more, with its history written as it
// happens, to see what it did.
type processes struct {
	argv  []string
	limit time.Duration
	// idle holds one element per worker; nil = to be started when it is needed.
	idle chan *process
}

func newProcesses(argv []string, n int) *processes {
	p := &processes{argv: argv, limit: trialLimit, idle: make(chan *process, n)}
	for range n {
		p.idle <- nil
	}
	return p
}

// Run implements Pool.
func (p *processes) Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error) {
	var w *process
	select {
	case w = <-p.idle:
	case <-ctx.Done():
		return trial.Done{}, ctx.Err()
	}
	defer func() { p.idle <- w }()
	d, death, err := p.attempt(ctx, &w, t, p.limit, log)
	if death == nil || err != nil {
		return d, err
	}
	if t.Stream {
		if death.Killed == crash.TooLong && grows(t.Folder, death.Limit/2) {
			death.Killed = crash.TooMuch
		}
		return afterCrash(ctx, t, death, death)
	}
	again := t
	again.Stream, again.Keep = true, true
	// What never ends need not be waited for as long a second time.
	d, second, err := p.attempt(ctx, &w, again, p.limit/6, nil)
	if second != nil && second.Killed == crash.TooLong && grows(again.Folder, second.Limit/2) {
		second.Killed = crash.TooMuch
	}
	switch {
	case err != nil:
		return d, err
	case second == nil:
		return d, survived(&d, again, death)
	}
	t.Stream = true
	return afterCrash(ctx, t, death, second)
}

// grows says whether the history that is being streamed to a folder has grown
// lately: then the trial goes on, and only costs more than we have.
func grows(folder string, lately time.Duration) bool {
	for _, name := range []string{trial.HistoryFile, trial.CommandsFile, trial.KeysFile} {
		if f, err := os.Stat(filepath.Join(folder, name)); err == nil && time.Since(f.ModTime()) < lately {
			return true
		}
	}
	return false
}

// survived is a trial whose process died once, and not when it was run again:
// its folder shows that death.
func survived(d *trial.Done, t trial.Task, death *crash.Death) error {
	d.Died = true
	if d.Trial.Violation() { // which the death does not make undone
		d.Trial.Why = death.Says() + ", when it was run before"
		return d.Explain(t.Folder, death.Stderr)
	}
	d.Trial.Err = death.Says() + "; when it was run again it did not"
	d.Trial.Outcome, d.Stalled = trial.Unknown, false
	return d.Explain(t.Folder, death.Stderr)
}

// attempt runs a task in the process *w, which it starts if need be and sets to
// nil if it is there no more. The error is ctx's if that ended.
func (p *processes) attempt(ctx context.Context, w **process, t trial.Task, limit time.Duration, log func(history.Command)) (trial.Done, *crash.Death, error) {
	if *w == nil {
		started, err := startProcess(ctx, p.argv)
		if err != nil {
			return trial.Done{}, nil, err
		}
		*w = started
	}
	d, err := (*w).do(ctx, t, limit, log)
	switch {
	case errors.Is(err, errDied):
		death := (*w).end()
		death.Limit = limit
		*w = nil
		return d, death, ctx.Err()
	case (*w).killed != "" || ctx.Err() != nil: // at the last moment
		(*w).end()
		*w = nil
	case (*w).last:
		(*w).stop()
		*w = nil
	}
	return d, nil, cmp.Or(ctx.Err(), err)
}

// Renew ends the processes: others will be started.
func (p *processes) Renew() {
	for range cap(p.idle) {
		if w := <-p.idle; w != nil {
			w.stop()
		}
	}
	for range cap(p.idle) {
		p.idle <- nil
	}
}

// Close implements Pool.
func (p *processes) Close() { p.Renew() }
