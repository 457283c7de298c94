package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
)

// leastSample is how many trials are repeated at least, if there are as many, and
// oneOf of how many in a large campaign.
const (
	leastSample = 10
	oneOf       = 50
)

// sampling picks every so many trials, over all that are marked; 0 = none.
type sampling struct{ every, passed int }

// sampling spreads the sample over a campaign of that many trials. Where trials
// are not promised to do the same again there is nothing to repeat.
func (r *run) sampling(trials int) *sampling {
	if !r.info.Deterministic {
		return &sampling{}
	}
	return &sampling{every: min(max(trials/leastSample, 1), oneOf)}
}

// mark picks jobs. They lie in an order that visits the cells one by one, so that
// those picked are from many.
func (s *sampling) mark(jobs []job) []job {
	for i := range jobs {
		jobs[i].sampled = s.every > 0 && s.passed%s.every == 0
		s.passed++
	}
	return jobs
}

// errDiffers says that a trial, run again, did something else.
var errDiffers = errors.New("is not deterministic")

// repeat runs the sampled trials again, in other processes, and compares. A
// difference is the harness's failure: both trials are kept. Of the others only
// what the campaign refers to stays, however it ends.
func (r *run) repeat(ctx context.Context) {
	var mu sync.Mutex
	differ := map[string]bool{}
	if len(r.sample) > 0 && ctx.Err() == nil && !r.failed() {
		r.workers.renew()
		each(ctx, r.sample, r.Config.Parallel, func(t Trial) {
			err := r.compare(ctx, t)
			mu.Lock()
			differ[folderName(t.Spec)] = errors.Is(err, errDiffers)
			mu.Unlock()
			r.repeated(ctx, err)
		})
	}
	for _, t := range r.sample {
		if t.Dir != "" || differ[folderName(t.Spec)] {
			continue
		}
		if err := removeFolder(r.folder(t.Spec)); err != nil {
			r.mu.Lock()
			r.fail(err)
			r.mu.Unlock()
		}
	}
}

// repeated counts a trial that was run again.
func (r *run) repeated(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.result.Repeated++
	case ctx.Err() == nil || errors.Is(err, errDiffers):
		r.fail(err)
	}
}

// compare runs a trial again beside its folder. The error is nil if it did the
// same and was judged alike, or errDiffers; then both folders are there. Of one that failed the second
// is.
func (r *run) compare(ctx context.Context, t Trial) error {
	first := r.folder(t.Spec)
	second := first + "-again"
	d, err := r.workers.run(ctx, task{Spec: t.Spec, Folder: second, Keep: true, Probe: t.Probe}, nil)
	switch {
	case err != nil:
	case d.Trial.Err != "":
		return fmt.Errorf("%s of %s under %s (%s) failed when it was run again, see %s: %s",
			t.Spec.Title(), t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, second, d.Trial.Err)
	case d.Trial.Hash != t.Hash || d.Trial.Outcome != t.Outcome || d.Trial.Hits != t.Hits || !slices.Equal(d.Trial.Flaws, t.Flaws):
		return fmt.Errorf("%s of %s under %s (%s) %w: run again it differs: compare %s and %s",
			t.Spec.Title(), t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, errDiffers, first, filepath.Base(second))
	}
	return errors.Join(err, removeFolder(second))
}
