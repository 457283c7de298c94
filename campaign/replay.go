package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/remedies"
	"github.com/lockstorm/lockstorm/trial/shrink"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// Replay runs one trial again.
type Replay struct {
	Testbed testbed.Testbed
	Spec    trial.Spec
	// Dir is the trial's folder, made if it is missing; "" = the trial is not stored.
	Dir string
	// Log receives each command once its outcome is known; nil = no log.
	Log func(history.Command)
	// Worker is the command line of a worker process to run the trial in, as in Campaign; nil = run
	// the trial in this process, which ends if the code under test panics.
	Worker []string
	// Try: try remedies on a violated trial, if it is on virtual time (trial.Result.Remedied).
	Try bool
}

// Run runs the trial and judges it. Violations are in the verdicts; they are no error. The error is
// a failure of the harness, perhaps together with a trial, or an input.Error if the spec is invalid
// or the testbed cannot run its clients.
func (r Replay) Run(ctx context.Context) (t trial.Result, e history.Evidence, err error) {
	if _, err := r.Spec.Recipe(); err != nil {
		return t, e, err
	}
	if err := cmp.Or(trial.CheckClients(r.Spec.ClientsAs, r.Testbed), trial.CheckRemedies(r.Spec.Remedies, r.Testbed)); err != nil {
		return t, e, err
	}
	folder := r.Dir
	if folder == "" {
		if folder, err = os.MkdirTemp("", "lockstorm-replay-"); err != nil {
			return t, e, fmt.Errorf("replay: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	}
	w := worker.NewPool(r.Testbed, r.Worker, 1)
	defer w.Close()
	d, err := w.Run(ctx, trial.Task{Spec: r.Spec, Folder: folder, Keep: true, Log: r.Log != nil}, r.Log)
	if err != nil {
		return t, e, err
	}
	t = d.Trial
	t.Spec, t.Acquires = r.Spec, d.Acquires
	record, err := trial.LoadRecord(folder)
	if err == nil && t.Err != "" {
		err = errors.New(t.Err)
	}
	if err == nil && r.Try && !trial.RealTime(r.Testbed) {
		err = remedies.Stored(ctx, ctx, w, folder)
		stored, _, lerr := trial.Load(folder)
		t.Remedied, err = stored.Remedied, cmp.Or(err, lerr)
	}
	return t, record.Evidence, err
}

// Remedy runs the trial, and tries these remedies together on it. why is "" if they have an effect; flaws says whether
// the trial shows any without them.
func (r Replay) Remedy(ctx context.Context, names ...string) (x remedy.Effect, why remedy.Why, flaws bool, err error) {
	r.Dir, r.Log = "", nil
	t, e, err := r.Run(ctx)
	if err != nil || len(t.Flaws) == 0 {
		return x, "", false, err
	}
	scratch, err := os.MkdirTemp("", "lockstorm-remedy-")
	if err != nil {
		return x, "", true, fmt.Errorf("replay: %w", err)
	}
	w := worker.NewPool(r.Testbed, r.Worker, 1)
	defer w.Close()
	x, why, err = remedies.TryThese(ctx, w, t, e, scratch, names...)
	return x, why, true, err
}

// Shrink runs the trial, then looks, in at most the given number of trials, for a smaller one with the
// same flaw (shrink.Run), and tries remedies on it. It stores the smaller trial in r.Dir, replacing files of the same names. The
// error is an input.Error if there is nothing to shrink, if no smaller trial was found, or if the
// testbed is on real time, where trials do not repeat.
func (r Replay) Shrink(ctx context.Context, trials int) (t trial.Result, e history.Evidence, err error) {
	if trial.RealTime(r.Testbed) {
		return t, e, input.Errorf("testbed %s is on real time, where no trial is the same again: only trials on virtual time can be shrunk", r.Testbed.Name())
	}
	first := r
	first.Dir, first.Log = "", nil
	original, _, err := first.Run(ctx)
	if err != nil {
		return t, e, err
	}
	if !original.Violation() {
		return t, e, input.Errorf("the trial shows no violation (%s): there is nothing to shrink", original.Outcome)
	}
	pool := worker.NewPool(r.Testbed, r.Worker, 1)
	defer pool.Close()
	t, err = shrink.Run(ctx, ctx, trials, pool, original, r.Dir)
	if why := shrink.NotShrunk(""); errors.As(err, &why) {
		return t, e, &input.Error{Err: err}
	}
	if err == nil {
		err = remedies.Stored(ctx, ctx, pool, r.Dir)
	}
	if err != nil {
		return t, e, err
	}
	stored, e, err := trial.Load(r.Dir)
	t.Shrinking, t.Remedied = stored.Shrinking, stored.Remedied
	return t, e, err
}
