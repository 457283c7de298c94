package campaign

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/lockstorm/lockstorm/trial"
)

// mostReruns is the maximum number of reruns of a spoilt trial.
const mostReruns = 2

// spoilt is a trial to rerun: its outcome proves nothing (trial.Done.Stalled), or it leaves an
// undeclared violation in doubt (Excuse).
type spoilt struct {
	job   job
	trial trial.Result
}

// spoils says whether the outcome of the trial calls for a rerun.
func (r *run) spoils(d trial.Done, t trial.Result) bool {
	// A deterministic rerun shows the same.
	return d.Stalled || !r.info.Deterministic && (inDoubt(t, r.trials) || t.Spoilt && t.Outcome == trial.Unknown)
}

// runAll runs jobs, then reruns spoilt trials that could still change their cell.
// Reruns use fewer workers, to relieve the machine. There are at most max(10, a twentieth of the
// jobs) reruns, so that a busy machine costs little time.
func (r *run) runAll(ctx context.Context, jobs []job) {
	parallel, budget := r.Config.Parallel, max(10, len(jobs)/20)
	r.pool(ctx, jobs, parallel)
	for range mostReruns {
		reruns := r.reruns(ctx, budget)
		budget -= len(reruns)
		parallel = max(1, parallel/3)
		r.pool(ctx, reruns, parallel)
	}
	r.reruns(ctx, 0)
	r.unreplaced(ctx)
}

// reruns returns jobs that rerun up to n spoilt trials, and records the other spoilt trials as they
// are. Trials with undeclared doubts come first. Then come trials of cells in which no flaw is
// sought, since no other trials decide these cells. A rerun replaces the spoilt run. A run that
// shows a violation beyond doubt is never replaced.
func (r *run) reruns(ctx context.Context, n int) []job {
	r.mu.Lock()
	defer r.mu.Unlock()
	doubted := func(s spoilt) bool { return inDoubt(s.trial, r.trials) }
	first := slices.DeleteFunc(slices.Clone(r.spoilt), func(s spoilt) bool { return !doubted(s) })
	others := slices.DeleteFunc(r.spoilt, doubted)
	slices.SortStableFunc(others, func(a, b spoilt) int {
		return cmp.Compare(len(r.soughtIn(a.job.spec)), len(r.soughtIn(b.job.spec)))
	})
	var jobs []job
	for _, s := range append(first, others...) {
		if len(jobs) >= n || ctx.Err() != nil || s.trial.Violation() || !doubted(s) && r.decided(s.job.spec) {
			r.record(ctx, s.trial)
			continue
		}
		if r.replaced == nil {
			r.replaced = map[string]trial.Result{}
		}
		r.replaced[trial.Folder(s.job.spec)] = s.trial
		s.job.earlier, s.job.stall = s.job.earlier+1, s.trial.Stall
		jobs = append(jobs, s.job)
	}
	r.spoilt = nil
	return jobs
}

// begin removes the evidence of the run that a job replaces.
func (r *run) begin(j job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := trial.Folder(j.spec)
	if before, ok := r.replaced[at]; ok {
		before.Dir = ""
		r.replaced[at] = before
		r.remove(r.folder(j.spec))
	}
}

// replaces ends the rerun t, with what the worker did. If the harness could not finish it, the run before
// counts. If it was disturbed as well, and shows nothing, what the run before left open is as open as it
// was. The caller holds mu.
func (r *run) replaces(j job, d *trial.Done, t *trial.Result) {
	before, ok := r.replaced[trial.Folder(j.spec)]
	delete(r.replaced, trial.Folder(j.spec))
	switch {
	case ok && t.Err != "" && before.Err == "":
		*t, d.Kept = before, false
		r.remove(r.folder(j.spec))
	case j.earlier > 0 && t.Spoilt && t.Outcome == trial.Holds:
		t.Outcome, t.Why = trial.Unknown, "every run was disturbed by a stall of the machine, or by an election that no fault caused"
	}
}

// unreplaced records the spoilt runs whose reruns did not end, because the campaign was interrupted.
func (r *run) unreplaced(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range slices.Sorted(maps.Keys(r.replaced)) {
		r.record(ctx, r.replaced[at])
	}
	r.replaced = nil
}

// decided says whether the cell of s has shown every flaw that a confirmation seeks in it; if none
// is sought, whether the cell has shown a violation.
func (r *run) decided(s trial.Spec) bool {
	if sought := r.soughtIn(s); len(sought) > 0 {
		shows := huntOf(r.info, r.trials).shows
		return !slices.ContainsFunc(sought, func(f Sought) bool { return !shows(f) })
	}
	return slices.ContainsFunc(r.trials, func(t trial.Result) bool {
		return t.Violation() && t.Spec.Lock == s.Lock && t.Spec.Fault == s.Fault
	})
}

// soughtIn returns the flaws that a confirmation seeks in the cell of s.
func (r *run) soughtIn(s trial.Spec) (sought []Sought) {
	for _, f := range r.info.Sought {
		if f.Lock == s.Lock && f.Fault == s.Fault {
			sought = append(sought, f)
		}
	}
	return sought
}
