package shrink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/trial"
)

// NotShrunk says why there is no smaller trial.
type NotShrunk string

// Reasons for NotShrunk: a trial did not repeat when it was run again.
const (
	// NotShown: the original does not show the flaw, so there is nothing to shrink.
	NotShown NotShrunk = "the trial does not show the same flaw when it runs again"
	// Varied: the smallest trial had a different history in its second run.
	Varied NotShrunk = "the smallest trial had a different history when it ran again"
)

// Error implements error.
func (n NotShrunk) Error() string { return "not shrunk: " + string(n) }

// BudgetUsed returns the error for a search that ran out of time: the cancellation cause of its
// context.
func BudgetUsed(budget time.Duration) error {
	return fmt.Errorf("the time budget of %v was used up", budget)
}

// Runner runs the trials that a search tries. A worker.Pool is one.
type Runner interface {
	Run(ctx context.Context, t trial.Task, log func(history.Command)) (trial.Done, error)
}

// Stored is Run for a trial that is stored in a folder, with at most the given number of trials. The
// smaller trial goes into that folder's trial.MinimalFolder. If there is no smaller trial, the
// folder's verdict.json says why.
func Stored(ctx context.Context, trials int, on Runner, original trial.Result, folder string) error {
	m := stored(on, original, folder)
	m.most = trials
	_, err := m.minimize(ctx, ctx)
	if why := NotShrunk(""); errors.As(err, &why) {
		return trial.Label(folder, trial.Shrinking{From: original.Size(), To: original.Size(), Trials: m.trials, NotShrunk: true, Unfinished: string(why)})
	}
	return err
}

// Known stores a smaller version of a stored trial that an earlier search found, as Stored does. It
// returns false if that version does not show the trial's flaw.
func Known(ctx context.Context, on Runner, original trial.Result, smaller trial.Spec, folder string) (shown bool, err error) {
	m := stored(on, original, folder)
	defer func() { err = errors.Join(err, os.RemoveAll(m.scratch())) }()
	if !disturbedBy(smaller, original) {
		return false, nil
	}
	_, err = m.store(ctx, smaller, "")
	if errors.Is(err, Varied) {
		return false, nil
	}
	return err == nil, err
}

// Stands says whether a smaller version still shows the flaw of a trial. It runs that version in a
// folder that it removes.
func Stands(ctx context.Context, on Runner, original trial.Result, smaller trial.Spec, folder string) (bool, error) {
	m := minimizer{on: on, original: original, folder: folder}
	return m.same(ctx, smaller)
}

// stored returns a minimizer for a trial that is stored in a folder. It compresses the smaller trial
// if the original is stored compressed.
func stored(on Runner, original trial.Result, folder string) minimizer {
	m := minimizer{on: on, original: original, folder: filepath.Join(folder, trial.MinimalFolder)}
	m.compress = strings.HasSuffix(packed.Find(filepath.Join(folder, trial.HistoryFile)), packed.Suffix)
	return m
}

// Run looks for a smaller trial with the same flaw as the original, until budget ends or it has run
// the given number of trials; 0 = as many as there is time for. That flaw is the original's worst
// undeclared flaw, or else its worst. Run stores the smaller trial in folder, replacing files of the
// same names. The error is NotShrunk, ctx's, or the runner's.
func Run(ctx, budget context.Context, trials int, on Runner, original trial.Result, folder string) (trial.Result, error) {
	m := minimizer{on: on, original: original, folder: folder, most: trials}
	return m.minimize(ctx, budget)
}

type minimizer struct {
	on       Runner
	original trial.Result
	folder   string // the smaller trial's folder
	trials   int
	most     int    // maximum of trials; 0 = none
	shown    int    // trials that showed the original's flaw
	compress bool   // store the smallest trial compressed
	hash     string // history.Hash of the smallest trial so far, which is the last one that showed the flaw; "" = unknown
}

// minimize does the work of Run.
func (m *minimizer) minimize(ctx, budget context.Context) (t trial.Result, err error) {
	// Trials of the search remove their files from scratch (Task.Drop), but a dead worker leaves its
	// files.
	defer func() { err = errors.Join(err, os.RemoveAll(m.scratch())) }()
	best, err := Search(budget, m.original.Spec, func(_ context.Context, s trial.Spec) (bool, error) {
		return m.same(ctx, s) // budget does not end a run: killing the worker would take longer
	})
	unfinished := ""
	var used trialsUsed
	switch {
	case ctx.Err() != nil:
		return trial.Result{}, ctx.Err()
	case errors.Is(err, NotShown):
		return trial.Result{}, NotShown
	case errors.As(err, &used) && m.shown < 2:
		return trial.Result{}, NotShrunk(used.Error())
	case errors.As(err, &used):
		unfinished = "not shrunk to the end: " + used.Error()
	case err != nil && budget.Err() == nil:
		return trial.Result{}, err
	case err != nil && m.shown < 2:
		return trial.Result{}, NotShrunk(context.Cause(budget).Error())
	case err != nil:
		unfinished = err.Error()
	}
	return m.store(ctx, best, unfinished)
}

// trialsUsed is the error of a search that ran that many trials, and may run no more.
type trialsUsed int

// Error implements error.
func (n trialsUsed) Error() string {
	return fmt.Sprintf("the budget of %d %s was used up", int(n), wording.Plural(int(n), "trial"))
}

// scratch returns the folder for trials of the search.
func (m *minimizer) scratch() string { return filepath.Clean(m.folder) + ".part" }

// same runs a smaller trial and says whether it shows the original's flaw.
func (m *minimizer) same(ctx context.Context, s trial.Spec) (bool, error) {
	if !disturbedBy(s, m.original) {
		return false, nil
	}
	if m.most > 0 && m.trials == m.most {
		return false, trialsUsed(m.most)
	}
	m.trials++
	d, err := m.on.Run(ctx, trial.Task{Spec: s, Folder: m.scratch(), Drop: true}, nil)
	if err != nil || !shownBy(d, m.original) {
		return false, err
	}
	m.shown++
	m.hash = d.Trial.Hash
	return true, nil
}

// store runs the smallest trial once more, and stores that run.
func (m *minimizer) store(ctx context.Context, s trial.Spec, unfinished string) (trial.Result, error) {
	if err := os.RemoveAll(m.scratch()); err != nil {
		return trial.Result{}, fmt.Errorf("store the smallest trial: %w", err)
	}
	d, err := m.on.Run(ctx, trial.Task{Spec: s, Folder: m.scratch(), Keep: true, Compress: m.compress}, nil)
	if err != nil {
		return trial.Result{}, err
	}
	if m.hash != "" && d.Trial.Hash != m.hash || !shownBy(d, m.original) {
		return trial.Result{}, Varied
	}
	t := d.Trial
	t.Spec = s
	t.Shrinking = &trial.Shrinking{From: m.original.Size(), To: t.Size(), Trials: m.trials, Unfinished: unfinished}
	if err := trial.WriteVerdict(m.scratch(), t); err != nil {
		return t, err
	}
	return t, moveFiles(m.scratch(), m.folder)
}

// moveFiles moves the files of one directory into another, which may exist.
func moveFiles(from, to string) error {
	if err := trial.MakeFolder(to); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	for _, f := range files {
		older := filepath.Join(to, strings.TrimSuffix(f.Name(), packed.Suffix)) // compressed or not
		err = errors.Join(err, packed.Remove(older), os.Rename(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())))
	}
	if err != nil {
		return fmt.Errorf("store the smallest trial: %w", err)
	}
	return nil
}

// disturbedBy says whether a smaller spec still contains the fault of t's cell. A flaw that
// shows without the fault belongs to another cell.
func disturbedBy(s trial.Spec, t trial.Result) bool {
	if !slices.Contains(t.Spec.Plan.Faults(), t.Spec.Fault) { // no fault, or a mix
		return len(s.Plan) > 0 || len(t.Spec.Plan) == 0
	}
	return slices.Contains(s.Plan.Faults(), t.Spec.Fault)
}

// shownBy reports whether a smaller trial, d, can stand for t. The harness must have run d without an error
// or a stall. In addition, all of these must be true:
//
//   - Both trials have the same outcome and the same flaw to keep (toKeep).
//   - If t's fault hit something, d's fault hit something too.
//   - The flaws of both trials rest on broken assumptions, or neither flaw does.
func shownBy(d trial.Done, t trial.Result) bool {
	u := d.Trial
	return u.Err == "" && !d.Stalled && (u.Exercised() || !t.Exercised()) && len(u.Flaws) > 0 && len(t.Flaws) > 0 &&
		u.Outcome == t.Outcome && toKeep(u) == toKeep(t) && broken(u) == broken(t)
}

// toKeep returns the flaw for which a trial is shrunk: the worst undeclared flaw, since that is why
// somebody looks at the trial, or else the worst flaw. The trial must have flaws.
func toKeep(t trial.Result) trial.Flaw {
	if i := slices.IndexFunc(t.Flaws, func(f trial.Flaw) bool { return f.Kind == "" }); i >= 0 {
		return t.Flaws[i]
	}
	return t.Flaws[0]
}

// broken says whether the first finding of the flaw to keep rests on a broken assumption, so that
// the recipe alone is not to blame.
func broken(t trial.Result) bool {
	keep := toKeep(t)
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated || v.Oracle != keep.Oracle {
			continue
		}
		i := slices.IndexFunc(v.Findings, func(f checker.Finding) bool { return string(f.Cause) == keep.Cause })
		if i >= 0 {
			return v.Findings[i].Account.Broken != nil
		}
	}
	return false
}
