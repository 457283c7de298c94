package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
)

// A campaign repeats at least leastSample trials, if it has that many, and at least one in every
// oneOf.
const (
	leastSample = 10
	oneOf       = 50
)

// sampling marks one job in every n, beginning with the first. The field every is n; 0 = mark none.
// The field passed counts the jobs seen so far.
type sampling struct{ every, passed int }

// sampling spreads the sample over a campaign with the given number of trials. Where trials
// are not deterministic, nothing is repeated.
func (r *run) sampling(trials int) *sampling {
	if !r.info.Deterministic {
		return &sampling{}
	}
	return &sampling{every: min(max(trials/leastSample, 1), oneOf)}
}

// mark sets sampled in the chosen jobs. Jobs visit the cells in turn, so the sample covers
// many cells.
func (s *sampling) mark(jobs []job) []job {
	for i := range jobs {
		jobs[i].sampled = !jobs[i].further && s.every > 0 && s.passed%s.every == 0
		s.passed++
	}
	return jobs
}

// againSuffix ends the name of the folder of a trial's second run.
const againSuffix = "-again"

// errDiffers: a trial of one of the project's own recipes differed when it was repeated.
var errDiffers = errors.New("is not deterministic")

// repetition is the outcome of running a trial again.
type repetition struct {
	ran     bool
	differs *history.Difference // nil = both runs did the same
	err     error               // why the runs could not be compared
}

// repeat runs the sampled trials again, in new processes, and compares both runs. A difference in
// one of the project's own recipes is a failure of the harness. For any other lock, the first trial
// that differs marks the lock as varying. The folders of both runs of a reported difference are kept.
// Of the other sampled trials, the first run's folder is kept only if the campaign refers to it, and the
// second run's only if the harness could not finish that run.
func (r *run) repeat(ctx context.Context) {
	again := make([]repetition, len(r.sample))
	if len(r.sample) > 0 && ctx.Err() == nil && !r.failed() {
		r.workers.Renew()
		each(ctx, r.sample, r.Config.Parallel, func(i int, t trial.Result) {
			d, err := r.compare(ctx, t)
			again[i] = repetition{true, d, err}
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, t := range r.sample {
		keep := r.repeated(ctx, t, again[i])
		if t.Dir == "" && !keep {
			r.remove(r.folder(t.Spec))
		}
	}
}

// repeated counts a trial that did the same again, or reports how it differed; keep says that the
// folders of both runs are needed. The caller holds mu.
func (r *run) repeated(ctx context.Context, t trial.Result, again repetition) (keep bool) {
	switch {
	case again.differs == nil && again.err == nil:
		if again.ran {
			r.result.Reproduced++
		}
		return false
	case again.err != nil:
		if ctx.Err() == nil {
			r.fail(again.err)
		}
		return false
	}
	v := varying(t, *again.differs)
	switch {
	case Ours(t.Spec.Lock):
		r.fail(fmt.Errorf("%s of %s under %s (%s) %w: run again it differs first in %s: compare %s and %s",
			v.Trial, v.Lock, v.Fault, v.Workload, errDiffers, v.Difference, r.folder(t.Spec), filepath.Base(v.Again)))
	case r.info.varies(t.Spec.Lock): // the lock is already marked
		r.remove(r.folder(t.Spec) + againSuffix)
		return false
	default:
		r.info.Varying = append(r.info.Varying, v)
	}
	return true
}

// compare runs a trial again, into a folder beside the first run's, and returns the first
// difference. It keeps the second folder if the runs differ, or if the harness could not finish the
// second run.
func (r *run) compare(ctx context.Context, t trial.Result) (*history.Difference, error) {
	first := r.folder(t.Spec)
	second := first + againSuffix
	d, err := r.workers.Run(ctx, trial.Task{Spec: t.Spec, Folder: second, Keep: true, Probe: t.Probe}, nil)
	if err == nil && d.Trial.Err != "" {
		return nil, fmt.Errorf("%s of %s under %s (%s) failed when it was run again, see %s: %s",
			t.Spec.Title(), t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, second, d.Trial.Err)
	}
	if err == nil {
		if differs := difference(t, d.Trial, first, second); differs != nil {
			return differs, nil
		}
	}
	return nil, errors.Join(err, trial.RemoveFolder(second))
}
