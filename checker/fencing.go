package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// grant is an acquire that ended with ok, with the fencing token that it returned.
type grant struct {
	lock          string
	owner         int
	fence         int64
	invoke, reply int // indices of its entries: their order is the order in time
	entry         *history.Pair
}

// fencing decides whether fencing tokens do their work: of two grants of a lock of
// which one was answered before the other was asked for, the later has the greater
// fence; two owners never get the same; and the guarded resource accepts nothing
// under an older fence than one that it has seen. The owner of a reentrant lock may
// get its own fence again. How long a grant was held does not matter.
//
// It is decided twice, as exclusion is.
func fencing(ctx context.Context, f *caseFile) (Verdict, error) {
	return fencingBy(ctx, f, sweepFences, linearizeFences)
}

func fencingBy(ctx context.Context, f *caseFile,
	first func(history.Claims, fences) []regress,
	second func(context.Context, history.Claims, fences) map[string]porcupine.CheckResult,
) (Verdict, error) {
	if !f.Claims.Fenced {
		return Verdict{Result: NotApplicable, Why: "the recipe claims no fencing tokens"}, nil
	}
	given, err := readFences(f)
	if err != nil {
		return impossible(err), nil
	}
	if len(given.grants) == 0 {
		return Verdict{Result: NotApplicable, Why: "nothing was acquired"}, nil
	}
	found := first(f.Claims, given)
	locks := map[string]bool{}
	for _, r := range found {
		locks[r.lock] = true
	}
	undecided, err := compare(locks, second(ctx, f.Claims, given))
	if err != nil {
		return Verdict{Result: Unknown, Why: err.Error()}, err
	}
	found = slices.DeleteFunc(found, func(r regress) bool { return slices.Contains(undecided, r.lock) })
	if len(found) == 0 && len(undecided) > 0 {
		return Verdict{Result: Unknown, Why: "porcupine came to no answer in time for " + strings.Join(undecided, ", ")}, nil
	}
	var findings []Finding
	for _, r := range found {
		findings = append(findings, regressFinding(f, r))
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	return conclude(f, findings, false), nil
}

// fences is what a history says of fencing tokens, by lock.
type fences struct {
	grants  map[string][]grant // in order of invocation
	touches map[string][]touch // of the resource, in its own order
}

func readFences(f *caseFile) (fences, error) {
	pairs, err := f.pairs()
	if err != nil {
		return fences{}, err
	}
	given := fences{grants: map[string][]grant{}}
	for i := range pairs.all {
		p := &pairs.all[i]
		if p.Invoke.F != history.FAcquire || p.Invoke.Process == history.Nemesis || p.Done() != history.OK {
			continue
		}
		g := grant{
			lock: p.Invoke.Lock, owner: p.Invoke.Client, fence: leaseOf(p).Fence,
			invoke: p.Invoke.Index, reply: p.Complete.Index, entry: p,
		}
		given.grants[g.lock] = append(given.grants[g.lock], g)
	}
	given.touches, _ = touches(f.Evidence, pairs)
	return given, ordered(given.touches)
}

// regress is a grant, or an operation of the resource, under a fence that is not
// greater than an earlier one.
type regress struct {
	lock        string
	late, newer *grant
	// of the resource
	accepted, seen *touch
}

// sweepFences finds, in O(n log n), every grant whose fence regressed, with one
// that shows it, and every operation that the resource should have refused.
func sweepFences(c history.Claims, given fences) []regress {
	var found []regress
	for _, lock := range slices.Sorted(maps.Keys(given.grants)) {
		found = append(found, sweepGrants(c, given.grants[lock])...)
	}
	for _, lock := range slices.Sorted(maps.Keys(given.touches)) {
		var newest *touch
		for i := range given.touches[lock] {
			t := &given.touches[lock][i]
			switch {
			case newest == nil || t.fence() >= newest.fence():
				newest = t
			default:
				found = append(found, regress{lock: lock, accepted: t, seen: newest})
			}
		}
	}
	return found
}

// sweepGrants goes through the grants of a lock in order of invocation. Beside it
// goes the greatest fence of those that had been answered.
func sweepGrants(c history.Claims, grants []grant) []regress {
	answered := slices.Clone(grants)
	slices.SortFunc(answered, func(a, b grant) int { return cmp.Compare(a.reply, b.reply) })
	var found []regress
	var newest *grant
	next := 0
	firstOf := map[int64]*grant{}
	for i := range grants {
		g := &grants[i]
		for ; next < len(answered) && answered[next].reply < g.invoke; next++ {
			if newest == nil || answered[next].fence > newest.fence {
				newest = &answered[next]
			}
		}
		own := func(other *grant) bool { return c.Reentrant && other.owner == g.owner }
		first := firstOf[g.fence]
		switch {
		case newest != nil && (g.fence < newest.fence || g.fence == newest.fence && !own(newest)):
			found = append(found, regress{lock: g.lock, late: g, newer: newest})
		case first != nil && !own(first):
			found = append(found, regress{lock: g.lock, late: g, newer: first})
		case g.fence <= 0:
			found = append(found, regress{lock: g.lock, late: g})
		}
		if first == nil {
			firstOf[g.fence] = g
		}
	}
	return found
}

func (t touch) fence() int64 {
	if t.op.Lease == nil {
		return 0
	}
	return t.op.Lease.Fence
}

// regressFinding tells of one.
func regressFinding(f *caseFile, r regress) Finding {
	if r.accepted != nil {
		a, s := r.accepted, r.seen
		return Finding{
			Cause: FenceRegressed, Lock: r.lock, Clients: []int{a.op.Client, s.op.Client}, From: s.op.Time, To: max(s.op.Time, a.op.Time),
			Ops: indices(a.op.Index, s.op.Index),
			Summary: fmt.Sprintf("%s accepted c%d's %s under fence %d at %s, though it had seen fence %d, with c%d's %s at %s",
				r.lock, a.op.Client, a.op.F, a.fence(), seconds(a.op.Time), s.fence(), s.op.Client, s.op.F, seconds(s.op.Time)),
		}
	}
	g := r.late
	told := Finding{
		Cause: FenceRegressed, Lock: r.lock, Clients: []int{g.owner}, From: g.entry.Invoke.Time, To: g.entry.Complete.Time,
		Ops: indices(g.invoke, g.reply),
	}
	if r.newer == nil {
		told.Summary = fmt.Sprintf("c%d was granted %s at %s with fence %d, which is none", g.owner, r.lock, seconds(told.To), g.fence)
		return told
	}
	n := r.newer
	told.Clients = append(told.Clients, n.owner)
	told.Ops = indices(append(told.Ops, n.invoke, n.reply)...)
	told.Summary = fmt.Sprintf("c%d was granted %s at %s with fence %d, though c%d had been granted it at %s with fence %d",
		g.owner, r.lock, seconds(told.To), g.fence, n.owner, seconds(n.entry.Complete.Time), n.fence)
	if w, err := f.wire(); err == nil {
		told.Commands, told.Broken = w.counterLost(*n, *g)
		if told.Broken != "" {
			told.Summary += ": " + told.Broken
		}
	}
	return told
}
