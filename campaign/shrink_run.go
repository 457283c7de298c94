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
	})
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
		return label(folder, Shrinking{From: t.size(), To: t.size(), Trials: m.trials, Unfinished: why.Error()})
	}
	return err
}

// budgetUsed says why a search was ended.
func budgetUsed(budget time.Duration) error {
	return fmt.Errorf("the time budget of %v was used up", budget)
}

// Shrink looks for a smaller trial that shows the same worst flaw as r's, within
// the budget, and stores it in r.Dir. The trial itself is run first; the error is
// an InputError if it shows no flaw, or if the testbed is on real time, where what
// a trial shows may be another's luck.
func (r Replay) Shrink(ctx context.Context, budget time.Duration) (before, after Trial, e history.Evidence, err error) {
	if realTime(r.Testbed) {
		return before, after, e, Inputf("testbed %s is on real time, where no trial is the same again: only trials on virtual time can be shrunk", r.Testbed.Name())
	}
	first := r
	first.Dir = ""
	if before, _, err = first.Run(ctx); err != nil {
		return before, after, e, err
	}
	if !before.Violation() {
		return before, after, e, Inputf("the trial shows no violation (%s): there is nothing to shrink", before.Outcome)
	}
	limited, cancel := context.WithTimeoutCause(ctx, budget, budgetUsed(budget))
	defer cancel()
	m := minimizer{workers: newWorkers(r.Testbed, r.Worker, 1), original: before, folder: r.Dir}
	defer m.workers.close()
	if after, err = m.minimize(ctx, limited); err != nil {
		return before, after, e, err
	}
	record, err := LoadRecord(r.Dir)
	return before, after, record.Evidence, err
}

// minimizer shrinks one violated trial.
type minimizer struct {
	workers  workers
	original Trial
	folder   string // of the smaller trial
	trials   int
	shown    int    // trials that showed the same
	hash     string // of the last of these, which is the smallest
}

// minimize finds a smaller trial within a budget, and stores it. The error is
// notShrunk, ctx's, or why the campaign cannot go on.
func (m *minimizer) minimize(ctx, budget context.Context) (Trial, error) {
	best, err := Shrink(budget, m.original.Spec, func(_ context.Context, s Spec) (bool, error) {
		return m.same(ctx, s) // which is waited for: to kill its worker would take longer
	})
	if rerr := os.RemoveAll(m.folder); rerr != nil { // what workers that died left there
		return Trial{}, fmt.Errorf("remove the trial's folder: %w", rerr)
	}
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

// same runs a smaller trial and says whether it shows what the original does.
func (m *minimizer) same(ctx context.Context, s Spec) (bool, error) {
	if !m.original.disturbedBy(s) {
		return false, nil
	}
	m.trials++
	d, err := m.workers.run(ctx, task{Spec: s, Folder: m.folder, Drop: true}, nil)
	if err != nil || !m.original.shownBy(d) {
		return false, err
	}
	m.shown++
	m.hash = d.Trial.Hash
	return true, nil
}

// store runs the smallest trial once more, and keeps it.
func (m *minimizer) store(ctx context.Context, s Spec, unfinished string) (Trial, error) {
	d, err := m.workers.run(ctx, task{Spec: s, Folder: m.folder, Keep: true}, nil)
	if err != nil {
		return Trial{}, err
	}
	if d.Trial.Hash != m.hash || !m.original.shownBy(d) {
		return Trial{}, errors.Join(notShrunk("the smallest trial was another when it was run again"), os.RemoveAll(m.folder))
	}
	t := d.Trial
	t.Spec = s
	t.Shrinking = &Shrinking{From: m.original.size(), To: t.size(), Trials: m.trials, Unfinished: unfinished}
	return t, writeJSON(filepath.Join(m.folder, VerdictFile), verdictOf(t))
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
			return v.Findings[i].Broken != ""
		}
	}
	return false
}
