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

// trialLimit is the processor time that a trial may take in a worker. Most trials take some
// milliseconds.
const trialLimit = time.Minute

// processes is a Pool of workers in processes of their own. When a worker dies, another one runs
// its trial again and writes the history as it happens, to show what the trial did. A trial whose
// history was already written that way is not run again.
type processes struct {
	argv  []string
	env   []string // what workers get besides the environment of this process
	limit time.Duration
	// idle has one element for each worker without a task; nil = the worker is not running.
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
	// The second attempt gets a shorter limit, in case it hangs.
	d, second, err := p.attempt(ctx, &w, again, p.limit/6, nil)
	if second != nil && second.Killed == crash.TooLong && grows(again.Folder, second.Limit/2) {
		second.Killed = crash.TooMuch
	}
	switch {
	case err != nil:
		return d, err
	case second == nil && death.Carried():
		return d, nil // the death was due to an earlier trial of the first process
	case second == nil:
		return d, survived(&d, again, death)
	}
	t.Stream = true
	return afterCrash(ctx, t, death, second)
}

// grows says whether a streamed file in a trial's folder has grown lately. If so, a trial that was
// killed for its processor time was still making progress.
func grows(folder string, lately time.Duration) bool {
	for _, name := range []string{trial.HistoryFile, trial.CommandsFile, trial.KeysFile} {
		if f, err := os.Stat(filepath.Join(folder, name)); err == nil && time.Since(f.ModTime()) < lately {
			return true
		}
	}
	return false
}

// survived records that the first run of a trial killed its process but the second run did not. The
// folder gets the first run's goroutine dump.
func survived(d *trial.Done, t trial.Task, death *crash.Death) error {
	d.Died = true
	if d.Trial.Violation() { // the death does not undo the violation
		d.Trial.Why = death.Says() + ", when it was run before"
		return d.Explain(t.Folder, death.Stderr)
	}
	d.Trial.Err = death.Says() + "; when it was run again it did not"
	d.Trial.Outcome, d.Stalled = trial.Unknown, false
	return d.Explain(t.Folder, death.Stderr)
}

// attempt runs a task in the process *w. It starts the process if *w is nil, and sets *w to
// nil once the process is gone. The error is ctx's if ctx ended.
func (p *processes) attempt(ctx context.Context, w **process, t trial.Task, limit time.Duration, log func(history.Command)) (trial.Done, *crash.Death, error) {
	if *w == nil {
		started, err := startProcess(ctx, p.argv, p.env)
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
	case (*w).killed != "" || ctx.Err() != nil: // killed just when the answer came
		(*w).end()
		*w = nil
	case (*w).last:
		(*w).stop()
		if d.Raced {
			text, _ := (*w).stderr.Text()
			d.RaceReport = crash.Races(text)
		}
		*w = nil
	}
	if err == nil && d.RaceReport != "" && d.Kept {
		err = d.Explain(t.Folder, d.RaceReport)
	}
	return d, nil, cmp.Or(ctx.Err(), err)
}

// Renew ends the processes; new ones are started on demand.
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
