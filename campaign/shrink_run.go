package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
)

// notShrunk is why there is no smaller trial.
type notShrunk string

func (n notShrunk) Error() string { return "not shrunk: " + string(n) }

// shrink looks for the smallest trial behind the counterexample of each cell,
// within the budget that the configuration gives to all of them.
func (r *run) shrink(ctx context.Context) {
	if r.Config.Shrink <= 0 || !r.info.Deterministic || ctx.Err() != nil || r.failed() {
		return
	}
	trials := r.counterexamples()
	r.shrunk(0, len(trials))
	deadline := time.Now().Add(r.Config.Shrink)
	var left atomic.Int64
	left.Store(int64(len(trials)))
	each(ctx, trials, r.Config.Parallel, func(t Trial) {
		// Who needs less than his share leaves the rest to those behind him.
		share := time.Until(deadline) * time.Duration(r.Config.Parallel) / time.Duration(left.Add(-1)+1)
		end := time.Now().Add(min(share, time.Until(deadline)))
		if err := r.minimize(ctx, t, end); err != nil && ctx.Err() == nil {
			r.mu.Lock()
			r.fail(fmt.Errorf("shrink %s: %w", t.Dir, err))
			r.mu.Unlock()
		}
		r.shrunk(1, len(trials))
	})
}

// shrunk tells of so many trials more, of all.
func (r *run) shrunk(n, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Shrunk += n
	r.progress.ToShrink = all
	if r.Progress != nil && all > 0 {
		r.Progress(r.progress)
	}
}

// counterexamples are the stored trials that show the cells' violations best, the
// smallest first.
func (r *run) counterexamples() []Trial {
	shown := map[string]bool{}
	for _, c := range fold(r.info, r.store.dir, r.trials).Cells {
		shown[c.Dir] = c.Dir != ""
	}
	trials := slices.DeleteFunc(slices.Clone(r.trials), func(t Trial) bool { return !shown[t.Dir] || !t.Violation() })
	slices.SortFunc(trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(a.Ops+a.Commands, b.Ops+b.Commands), cmp.Compare(a.Dir, b.Dir))
	})
	return trials
}

// minimize shrinks a stored trial until then; of one that cannot be, its folder
// says why.
func (r *run) minimize(ctx context.Context, t Trial, end time.Time) error {
	folder := filepath.Join(r.store.dir, t.Dir)
	budget, cancel := context.WithDeadlineCause(ctx, end, budgetUsed(r.Config.Shrink))
	defer cancel()
	m := minimizer{workers: r.workers, original: t, folder: filepath.Join(folder, MinimalFolder)}
	_, err := m.minimize(ctx, budget)
	if why := notShrunk(""); errors.As(err, &why) {
		return label(folder, Shrinking{From: t.size(), To: t.size(), Trials: m.trials, NotShrunk: true, Unfinished: string(why)})
	}
	return err
}

// budgetUsed says why a search was ended.
func budgetUsed(budget time.Duration) error {
	return fmt.Errorf("the time budget of %v was used up", budget)
}

// Shrink looks for a smaller trial that shows the same worst flaw as r's, within
// the budget, and stores it in r.Dir, where it replaces what is of the same name. The trial itself is run
// first. The error is an InputError if there is nothing to shrink, or if the
// testbed is on real time, where no trial is the same again.
func (r Replay) Shrink(ctx context.Context, budget time.Duration) (t Trial, e history.Evidence, err error) {
	if realTime(r.Testbed) {
		return t, e, Inputf("testbed %s is on real time, where no trial is the same again: only trials on virtual time can be shrunk", r.Testbed.Name())
	}
	first := r
	first.Dir, first.Log = "", nil
	original, _, err := first.Run(ctx)
	if err != nil {
		return t, e, err
	}
	if !original.Violation() {
		return t, e, Inputf("the trial shows no violation (%s): there is nothing to shrink", original.Outcome)
	}
	limited, cancel := context.WithTimeoutCause(ctx, budget, budgetUsed(budget))
	defer cancel()
	m := minimizer{workers: newWorkers(r.Testbed, r.Worker, 1), original: original, folder: r.Dir}
	defer m.workers.close()
	t, err = m.minimize(ctx, limited)
	if why := notShrunk(""); errors.As(err, &why) {
		return t, e, &InputError{err}
	}
	if err != nil {
		return t, e, err
	}
	record, err := LoadRecord(r.Dir)
	return t, record.Evidence, err
}

// minimizer shrinks one violated trial.
type minimizer struct {
	workers  workers
	original Trial
	folder   string // of the smaller trial, when it is found
	trials   int
	shown    int    // trials that showed the same
	hash     string // of the last of these, which is the smallest
}

// minimize finds a smaller trial within a budget, and stores it. The error is
// notShrunk, ctx's, or why the campaign cannot go on.
func (m *minimizer) minimize(ctx, budget context.Context) (t Trial, err error) {
	// What workers that die leave behind lies there, too.
	defer func() { err = errors.Join(err, os.RemoveAll(m.scratch())) }()
	best, err := Shrink(budget, m.original.Spec, func(_ context.Context, s Spec) (bool, error) {
		return m.same(ctx, s) // which is waited for: to kill its worker would take longer
	})
	unfinished := ""
	switch {
	case ctx.Err() != nil:
		return Trial{}, ctx.Err()
	case errors.Is(err, errNotShown):
		return Trial{}, notShrunk(err.Error())
	case err != nil && budget.Err() == nil:
		return Trial{}, err
	case err != nil && m.shown < 2:
		return Trial{}, notShrunk(context.Cause(budget).Error())
	case err != nil:
		unfinished = err.Error()
	}
	return m.store(ctx, best, unfinished)
}

// scratch is the folder of the trials that are tried.
func (m *minimizer) scratch() string { return filepath.Clean(m.folder) + ".part" }

// same runs a smaller trial and says whether it shows what the original does.
func (m *minimizer) same(ctx context.Context, s Spec) (bool, error) {
	if !m.original.disturbedBy(s) {
		return false, nil
	}
	m.trials++
	d, err := m.workers.run(ctx, task{Spec: s, Folder: m.scratch(), Drop: true}, nil)
	if err != nil || !m.original.shownBy(d) {
		return false, err
	}
	m.shown++
	m.hash = d.Trial.Hash
	return true, nil
}

// store runs the smallest trial once more, and keeps it.
func (m *minimizer) store(ctx context.Context, s Spec, unfinished string) (Trial, error) {
	if err := os.RemoveAll(m.scratch()); err != nil {
		return Trial{}, fmt.Errorf("store the smallest trial: %w", err)
	}
	d, err := m.workers.run(ctx, task{Spec: s, Folder: m.scratch(), Keep: true}, nil)
	if err != nil {
		return Trial{}, err
	}
	if d.Trial.Hash != m.hash || !m.original.shownBy(d) {
		return Trial{}, notShrunk("the smallest trial was another when it was run again")
	}
	t := d.Trial
	t.Spec = s
	t.Shrinking = &Shrinking{From: m.original.size(), To: t.size(), Trials: m.trials, Unfinished: unfinished}
	if err := writeJSON(filepath.Join(m.scratch(), VerdictFile), verdictOf(t)); err != nil {
		return t, err
	}
	return t, moveFiles(m.scratch(), m.folder)
}

// moveFiles puts the files of one directory into another, which may be there.
func moveFiles(from, to string) error {
	if err := makeFolder(to); err != nil {
		return err
	}
	files, err := os.ReadDir(from)
	for _, f := range files {
		err = errors.Join(err, os.Rename(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())))
	}
	if err != nil {
		return fmt.Errorf("store the smallest trial: %w", err)
	}
	return nil
}

// disturbedBy says whether a smaller spec still is about the fault of t's cell.
// What shows without it is a finding of another cell.
func (t Trial) disturbedBy(s Spec) bool {
	if !slices.Contains(t.Spec.Plan.Faults(), t.Spec.Fault) { // none, or a mix
		return len(s.Plan) > 0 || len(t.Spec.Plan) == 0
	}
	return slices.Contains(s.Plan.Faults(), t.Spec.Fault)
}

// shownBy says whether a smaller trial shows the worst flaw of t as its own worst,
// because an assumption was broken if one was in t, and with a fault that hit.
func (t Trial) shownBy(d done) bool {
	u := d.Trial
	return u.Err == "" && !d.Stalled && u.exercised() && len(u.Flaws) > 0 && len(t.Flaws) > 0 &&
		u.Outcome == t.Outcome && u.Flaws[0] == t.Flaws[0] && u.broken() == t.broken()
}

// broken says whether an assumption was broken in the findings of the worst flaw,
// so that it is not the recipe's own doing alone.
func (t Trial) broken() bool {
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated || v.Oracle != t.Flaws[0].Oracle {
			continue
		}
		i := slices.IndexFunc(v.Findings, func(f checker.Finding) bool { return string(f.Cause) == t.Flaws[0].Cause })
		if i >= 0 {
			return v.Findings[i].Account.Broken != nil
		}
	}
	return false
}
