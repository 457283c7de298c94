package campaign

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
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

// repeat runs the sampled trials again, in other processes, and compares. A
// difference is the harness's failure: both trials are kept.
func (r *run) repeat(ctx context.Context) {
	if len(r.sample) == 0 || ctx.Err() != nil || r.failed() {
		return
	}
	r.workers.renew()
	each(ctx, r.sample, r.Config.Parallel, func(t Trial) {
		same, err := r.compare(ctx, t)
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			r.fail(err)
		}
		if same {
			r.result.Repeated++
		}
	})
}

// compare runs a trial again beside its folder.
func (r *run) compare(ctx context.Context, t Trial) (same bool, err error) {
	first := r.folder(t.Spec)
	second := first + "-again"
	d, err := r.workers.run(ctx, task{Spec: t.Spec, Folder: second, Keep: true, Probe: t.Probe}, nil)
	switch {
	case err != nil:
		return false, err
	case d.Trial.Hash != t.Hash:
		return false, fmt.Errorf("trial %d of %s under %s (%s) is not deterministic: run again it differs: compare %s and %s",
			t.Spec.Trial, t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, first, filepath.Base(second))
	}
	if err = removeFolder(second); t.Dir == "" {
		err = errors.Join(err, removeFolder(first))
	}
	return true, err
}
