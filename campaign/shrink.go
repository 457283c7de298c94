package campaign

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/lockstorm/lockstorm/campaign/corpus"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/remedies"
	"github.com/lockstorm/lockstorm/trial/shrink"
)

// shrink shrinks the counterexample of each cell, each with at most Config.Shrink trials.
func (r *run) shrink(ctx context.Context) {
	if r.Config.Shrink <= 0 || !r.info.Deterministic || ctx.Err() != nil || r.failed() {
		return
	}
	trials := r.counterexamples()
	r.shrunk(0, len(trials))
	each(ctx, trials, r.Config.Parallel, func(_ int, t trial.Result) {
		if err := r.minimize(ctx, t); err != nil && ctx.Err() == nil {
			r.mu.Lock()
			r.fail(fmt.Errorf("shrink %s: %w", t.Dir, err))
			r.mu.Unlock()
		}
		r.shrunk(1, len(trials))
	})
}

// shrunk adds n to the number of shrunk trials and reports the progress; all is the number of
// trials to shrink.
func (r *run) shrunk(n, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress.Shrunk += n
	r.progress.ToShrink = all
	if r.Progress != nil && all > 0 {
		r.Progress(r.progress)
	}
}

// counterexamples returns the stored trials that show the cells' violations best,
// smallest first.
func (r *run) counterexamples() []trial.Result {
	shown := map[string]bool{}
	for _, c := range fold(r.info, r.store.dir, r.trials).Cells {
		shown[c.Dir] = c.Dir != ""
	}
	trials := slices.DeleteFunc(slices.Clone(r.trials), func(t trial.Result) bool { return !shown[t.Dir] || !t.Violation() })
	slices.SortFunc(trials, func(a, b trial.Result) int {
		return cmp.Or(cmp.Compare(a.Ops+a.Commands, b.Ops+b.Commands), cmp.Compare(a.Dir, b.Dir))
	})
	return trials
}

// minimize shrinks a stored trial. If the corpus has its smallest version, minimize runs that one and
// searches only if it does not show the trial's flaw. If the trial cannot be shrunk, minimize writes
// the reason into its folder. Remedies are tried on a trial that was searched for; the corpus has their effects for its
// own.
func (r *run) minimize(ctx context.Context, t trial.Result) error {
	folder := filepath.Join(r.store.dir, t.Dir)
	if t.Headline {
		line := r.planner.corpus.lines[corpus.KeyOf(t.Spec)]
		shown, err := shrink.Known(ctx, r.workers, t, *line.Minimal, folder)
		if shown && err == nil && line.Remedied != nil {
			err = trial.SetRemedied(filepath.Join(folder, trial.MinimalFolder), *line.Remedied)
		}
		if shown || err != nil {
			return err
		}
	}
	if err := shrink.Stored(ctx, r.Config.Shrink, r.workers, t, folder); err != nil {
		return err
	}
	return remedies.Stored(ctx, ctx, r.workers, filepath.Join(folder, trial.MinimalFolder))
}
