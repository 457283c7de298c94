package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// Task is one trial to be run, judged and stored, in any process.
type Task struct {
	Spec Spec `json:"spec"`
	// Folder is the trial's folder. Execute makes it only for a trial that is stored. A streamed trial
	// has its folder from the start; Execute removes the folder if it does not keep the trial.
	Folder string `json:"folder"`
	Keep   bool   `json:"keep,omitempty"` // store the trial, whatever the outcome
	// Compress: store the evidence of a violation compressed, unless it is streamed.
	Compress bool `json:"compress,omitempty"`
	// Monitor: also log what nodes execute, if they can report it.
	Monitor bool `json:"monitor,omitempty"`
	Drop    bool `json:"drop,omitempty"`   // never store the trial
	Stream  bool `json:"stream,omitempty"` // write the evidence as it happens
	Probe   bool `json:"probe,omitempty"`  // see Result.Probe; Done.Seen has what the trial showed
	// Enough is what stored trials already show. A violated trial that shows no more is not stored.
	Enough Shown `json:"enough,omitzero"`
	Log    bool  `json:"log,omitempty"` // pass commands on as they happen
}

// Done is the outcome of a task.
type Done struct {
	Trial Result `json:"trial"`
	Kept  bool   `json:"kept"` // the trial is stored in the task's folder
	// Stalled: the outcome proves nothing, because the harness was not scheduled for too long, nodes
	// elected another primary without a fault, or decisive events came too close together to be
	// ordered.
	Stalled  bool            `json:"stalled,omitempty"`
	Seen     nemesis.Sight   `json:"seen,omitzero"`      // what a probe showed
	Acquires []time.Duration `json:"acquires,omitempty"` // see Result.Acquires
	// Raced: the race detector found a data race in the trial (testbed.ErrRace).
	Raced bool `json:"raced,omitempty"`
	// RaceReport is what the race detector wrote, if a worker process ran the trial.
	RaceReport string `json:"-"`
	// Died: the trial ended the process in which it ran.
	Died bool `json:"-"`
}

// Execute runs a task, judges the evidence, and stores it if it shows something or the task asks
// for it. Execute locks judging while it judges and stores. log receives the commands; nil = no log.
func Execute(ctx context.Context, tb testbed.Testbed, t Task, judging sync.Locker, log func(history.Command)) (Done, error) {
	started := time.Now()
	t.Stream = t.Stream || RealTime(tb) // the evidence of a long run must survive a kill
	d := Done{Trial: Result{Spec: t.Spec, Probe: t.Probe}}
	recipe, err := t.Spec.Recipe()
	if err != nil {
		return d, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	rec := newTrialWriter(t.Folder, storedSpec{Spec: t.Spec, Watched: WatchesKeys(tb), Claims: t.Spec.PromisedBy(recipe)})
	if t.Stream {
		if err := rec.stream(stop); err != nil {
			return d, err
		}
		t.Spec.Logs = filepath.Join(t.Folder, "logs")
		if t.Monitor {
			t.Spec.Monitor = t.Spec.Logs
		}
	}
	commands := rec.command
	if log != nil {
		commands = func(c history.Command) { rec.command(c); log(c) }
	}
	acted := func(a remedy.Acted) {
		if len(t.Spec.Remedies) > 0 {
			d.Trial.Acted = &a
		}
	}
	e, broken, err := run(running, tb, t.Spec, history.NewRecorder(rec.writer(), tb.Clock()), receivers{commands, rec.keyChange, rec.said, acted})
	hash, cerr := rec.close(e)
	if cerr != nil {
		return d, cerr
	}
	d.Trial.Elapsed, d.Raced = time.Since(started), errors.Is(err, testbed.ErrRace)
	if stopped := ctx.Err(); stopped != nil { // the files written so far stay, but are no result
		return d, interrupted(stopped, err)
	}
	judging.Lock()
	defer judging.Unlock()
	d.Trial.Hash = hash
	if broken == nil {
		d.Judge(ctx, recipe, e, err)
	} else { // the history is complete, up to the breakdown
		d.Judge(ctx, recipe, e, nil)
		d.addTeardownError(err)
	}
	if err := ctx.Err(); err != nil {
		return d, err // judging was interrupted
	}
	if !RealTime(tb) && len(e.Ops) > 0 {
		d.Trial.Virtual = e.Ops[len(e.Ops)-1].Time
	}
	if t.Probe && err == nil {
		d.Seen = nemesis.SightOf(e)
	}
	if len(t.Spec.Plan) == 0 {
		d.Acquires = AcquireTimes(e)
	}
	stack := ""
	if broken != nil {
		stack = broken.Stack
	}
	return d, d.store(t, rec, stack)
}

// interrupted returns the error of a trial whose context has ended. stopped is the context's error.
// The result includes err, the trial's own error, only if something could not be torn down.
func interrupted(stopped, err error) error {
	var left *testbed.TeardownError
	switch {
	case !errors.As(err, &left):
		return stopped
	case !errors.Is(err, stopped):
		return testbed.JoinErrors(stopped, err)
	}
	return err
}

// Conclude judges and stores the evidence of a task whose process died. If failure is not
// nil, it says why the death proves nothing about the code under test. goroutines is the
// process's goroutine dump. Conclude sets the evidence's claims.
func Conclude(ctx context.Context, t Task, e history.Evidence, failure error, goroutines string) (Done, error) {
	d := Done{Trial: Result{Spec: t.Spec, Probe: t.Probe}, Died: true}
	recipe, err := t.Spec.Recipe()
	if err != nil {
		return d, err
	}
	e.Claims = t.Spec.PromisedBy(recipe)
	rec := newTrialWriter(t.Folder, storedSpec{Spec: t.Spec, Watched: e.Watched, Claims: e.Claims})
	rec.copy(e.Ops)
	if d.Trial.Hash, err = rec.close(e); err != nil {
		return d, err
	}
	d.Judge(ctx, recipe, e, failure)
	if err := ctx.Err(); err != nil {
		return d, err
	}
	if n := len(e.Ops); n > 0 {
		d.Trial.Virtual = e.Ops[n-1].Time
	}
	t.Stream = false
	return d, d.store(t, rec, goroutines)
}

// Judge fills in the result from the evidence and the run's error.
func (d *Done) Judge(ctx context.Context, recipe locks.Recipe, e history.Evidence, err error) {
	t := &d.Trial
	if err == nil {
		asked := checker.NewCase(e)
		t.measure(asked)
		*t, err = judge(ctx, *t, recipe.Flaws, asked)
	}
	switch lack, ok := errors.AsType[*nemesis.Unsupported](err); {
	case ok:
		t.Lack, t.Why, t.Outcome = lack, lack.Error(), NotSupported // only the running world showed the lack
	case err != nil:
		t.Err, t.Outcome = err.Error(), Unknown
	}
	_, stalled := checker.Stalled(e)
	unordered := slices.ContainsFunc(t.Verdicts, checker.Verdict.Unordered)
	d.Stalled = (stalled || unordered) && err == nil && t.Outcome == Unknown
}

// addTeardownError adds a teardown error (nil = none) to a judged trial. The verdict stands.
func (d *Done) addTeardownError(err error) {
	if err != nil {
		d.Trial.Err = strings.TrimPrefix(d.Trial.Err+"; "+err.Error(), "; ")
	}
}

// store stores the trial if it shows something or the task asks for it, with the goroutine dump of
// a trial that broke down.
func (d *Done) store(t Task, rec *trialWriter, goroutines string) error {
	d.Kept = !t.Drop && (t.Keep || d.Trial.Outcome == Unknown || d.Trial.Violation() && d.Trial.ShowsMore(t.Enough))
	if !d.Kept {
		if t.Stream {
			return RemoveFolder(t.Folder)
		}
		return nil
	}
	if err := rec.save(t.Compress && d.Trial.Violation()); err != nil {
		return err
	}
	return d.Explain(t.Folder, goroutines)
}

// Explain writes the verdict next to the history. If goroutines (a goroutine dump, or the report of a
// data race) is not empty, Explain writes it into GoroutinesFile.
func (d *Done) Explain(folder, goroutines string) error {
	if goroutines != "" {
		if err := os.WriteFile(filepath.Join(folder, GoroutinesFile), []byte(goroutines), 0o666); err != nil {
			return fmt.Errorf("write %s: %w", GoroutinesFile, err)
		}
	}
	return WriteVerdict(folder, d.Trial)
}
