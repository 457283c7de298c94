package checker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// Porcupine's side of fencing.
//
// A grant is one operation, from its invocation to its reply, on the model of a
// fenced lock: it takes the lock and lets it go at once, since a lease ends without
// anybody's word. It is legal only if its fence is greater than all before, so the
// one order that can be legal is that of the fences, and the history is linearizable
// if and only if that order does not contradict the order in time.
//
// Where so many grants are concurrent that a search would be long, each shrinks to
// an instant: the earliest at which it can come after all with smaller fences, but
// not after its own reply. If the history is linearizable these instants are in the
// order of the fences. If it is not, there are two grants in the wrong order, the
// one answered before the other was asked for; and so are their instants.

// linearizeFences lets porcupine decide, per lock, whether fences regress.
func linearizeFences(ctx context.Context, c history.Claims, given fences) map[string]porcupine.CheckResult {
	end := endOf(ctx, porcupineLimit)
	locks := blueprintFor(history.Claims{Reentrant: c.Reentrant, Fenced: true}).build(0)
	results := map[string]porcupine.CheckResult{}
	for lock, grants := range given.grants {
		results[lock] = decide(ctx, end, locks, grantOperations(grants))
	}
	for lock, touches := range given.touches {
		r := decide(ctx, end, model(fencedResource(0)), acceptances(touches))
		if results[lock] == "" || results[lock] == porcupine.Ok || r == porcupine.Illegal {
			results[lock] = r
		}
	}
	return results
}

func decide(ctx context.Context, end time.Time, m porcupine.Model, ops []porcupine.Operation) porcupine.CheckResult {
	left := time.Until(end)
	if ctx.Err() != nil || left <= 0 {
		return porcupine.Unknown
	}
	return porcupine.CheckOperationsTimeout(m, ops, left)
}

// grantOperations turns grants into operations with their ranks for times.
func grantOperations(grants []grant) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(grants))
	for i, g := range grants {
		ops[i] = porcupine.Operation{
			ClientId: g.owner, Input: action{owner: g.owner, fence: g.fence, passing: true},
			Call: int64(g.invoke), Return: int64(g.reply),
		}
	}
	if width(ops) > maxWidth {
		shrinkToFences(ops)
	}
	return ops
}

// shrinkToFences gives every grant its instant.
func shrinkToFences(ops []porcupine.Operation) {
	fence := func(op porcupine.Operation) int64 { return op.Input.(action).fence }
	slices.SortFunc(ops, func(a, b porcupine.Operation) int {
		return cmp.Or(cmp.Compare(fence(a), fence(b)), cmp.Compare(a.Call, b.Call))
	})
	latest := map[int64]int64{} // by fence: the last call of those with one as great or smaller
	last := int64(0)
	for _, op := range ops {
		last = max(last, op.Call)
		latest[fence(op)] = last
	}
	for i := range ops {
		ops[i].Call = min(ops[i].Return, latest[fence(ops[i])])
	}
	slices.SortStableFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for i := range ops {
		ops[i].Call, ops[i].Return = int64(i), int64(i)
	}
}

// acceptances are what the resource accepted, one after the other.
func acceptances(touches []touch) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(touches))
	for i, t := range touches {
		ops[i] = porcupine.Operation{
			ClientId: t.op.Client, Input: action{owner: t.op.Client, fence: t.fence()}, Call: int64(i), Return: int64(i),
		}
	}
	return ops
}

// pictured are the claims by whose model a history is drawn. Whoever hears of its
// grant only after a later one has come and gone breaks nothing that is promised,
// but its fence comes too late for a picture that has both holds and fences.
func pictured(ctx context.Context, f *caseFile, byLock map[string][]span) history.Claims {
	c := f.Claims
	given, err := readFences(f)
	if !c.Fenced || err != nil || len(sweepFences(c, given)) > 0 {
		return c
	}
	b := blueprintFor(c)
	end := endOf(ctx, pictureLimit)
	for _, lock := range slices.Sorted(maps.Keys(byLock)) {
		all := byLock[lock]
		if linearizeLock(ctx, end, c, all) != porcupine.Ok {
			continue
		}
		if !b.counts {
			all = mergeOwn(all)
		}
		if linearizeOn(ctx, end, b.build(c.Permits), all) != porcupine.Ok {
			return unfenced(c)
		}
	}
	return c
}
