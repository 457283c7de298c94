package campaign

import (
	"context"
	"slices"

	"github.com/lockstorm/lockstorm/trial"
)

// retries is how often a spoilt trial is run again.
const retries = 2

// spoilt is a trial that is unknown because the harness was not scheduled for so long
// that a violation proves nothing, or that leaves an undeclared one in doubt (Excuse).
type spoilt struct {
	job   job
	trial trial.Result
}

// leaves is what the trial's next run inherits: the violations in doubt, and the folder of
// the earliest run whose doubt is unresolved.
func (s spoilt) leaves(doubted bool) earlier {
	next := earlier{undeclared(s.trial.Doubtful), s.trial.Settled, s.job.before.dir}
	same := func(f trial.Flaw) bool { return slices.ContainsFunc(next.flaws, f.Same) }
	if doubted && !slices.ContainsFunc(s.job.before.flaws, same) {
		next.dir = s.trial.Dir
	}
	return next
}

// spoils says whether the trial itself gives a reason to run it again.
func (r *run) spoils(d trial.Done, t trial.Result) bool {
	return d.Stalled || !r.info.Deterministic && inDoubt(t, r.trials) // no rerun of a deterministic trial settles a doubt
}

// rounds runs jobs, then reruns spoilt ones that could still change their cell or
// settle a doubt: fewer at a time, to relieve the machine, and at most a twentieth of
// all, so that a busy machine costs little time.
func (r *run) rounds(ctx context.Context, jobs []job) {
	parallel, budget := r.Config.Parallel, max(10, len(jobs)/20)
	r.pool(ctx, jobs, parallel)
	for range retries {
		again := r.again(ctx, budget)
		budget -= len(again)
		parallel = max(1, parallel/3)
		r.pool(ctx, again, parallel)
	}
	r.again(ctx, 0)
}

// further is another attempt at a trial that is recorded.
func (p *planner) further(s trial.Spec) trial.Spec {
	if p.confirm != nil { // its trials have attempts of their own
		return p.confirm.next(s)
	}
	s.Attempt++
	return s
}

// again takes up to n of the spoilt trials for another run and records the others as
// they are. Undeclared doubts come first. A trial that also shows a violation is
// recorded in any case; its doubt is left to another attempt. The evidence of an
// undeclared doubt is kept, whatever the next attempt shows.
func (r *run) again(ctx context.Context, n int) []job {
	r.mu.Lock()
	defer r.mu.Unlock()
	doubted := func(s spoilt) bool { return inDoubt(s.trial, r.trials) }
	first := slices.DeleteFunc(slices.Clone(r.spoilt), func(s spoilt) bool { return !doubted(s) })
	others := slices.DeleteFunc(r.spoilt, doubted)
	var jobs []job
	for _, s := range append(first, others...) {
		shows, doubt := s.trial.Violation(), doubted(s) // before the trial is recorded
		if len(jobs) >= n || ctx.Err() != nil || !doubt && (shows || r.decided(s.job.spec)) {
			r.record(ctx, s.trial)
			continue
		}
		if shows {
			r.record(ctx, s.trial)
			s.job.further = true
			r.progress.Total++
		}
		s.job.before = s.leaves(doubt)
		if doubt { // its evidence must be kept
			s.job.spec = r.planner.further(s.job.spec)
		} else if err := trial.RemoveFolder(r.folder(s.job.spec)); err != nil {
			r.fail(err)
		}
		s.job.again++
		jobs = append(jobs, s.job)
	}
	r.spoilt = nil
	return jobs
}

// decided says whether the cell of s has a verdict that outranks unknown; when
// confirming another campaign, whether everything that it showed there has shown.
func (r *run) decided(s trial.Spec) bool {
	if sought := r.info.Sought; len(sought) > 0 {
		shows := huntOf(r.info, r.trials).shows
		return !slices.ContainsFunc(sought, func(f Sought) bool { return f.Lock == s.Lock && f.Fault == s.Fault && !shows(f) })
	}
	return slices.ContainsFunc(r.trials, func(t trial.Result) bool {
		return t.Violation() && t.Spec.Lock == s.Lock && t.Spec.Fault == s.Fault
	})
}
