package linear

import (
	"cmp"
	"context"
	"slices"
)

// Porcupine's side of fencing.
//
// A grant is one operation, from its invocation to its reply, on the model of a fenced
// lock. The operation takes the lock and releases it at once, since a lease can end without
// a release. It is legal only if its fence is greater than all earlier fences. If all fences differ,
// only one order can be legal: the order of ascending fences. Then the history is linearizable if and
// only if no grant was answered before a grant with a smaller fence was invoked.
//
// Porcupine would have to try every subset of concurrent grants. So each grant shrinks to one instant: the
// earliest at which it can come after all grants with smaller fences, but not later than
// its own reply. If the history is linearizable, these instants are in the order of the
// fences. If the history is not linearizable, two grants are in the wrong order: the one
// with the greater fence was answered before the other was invoked. Then their instants are
// in the wrong order, too.

// Grant is an acquire that ended with ok and returned a fence.
type Grant struct {
	Owner int
	Fence int64
	// Call and Return bound the time of the grant. They are ranks: equal ranks are the same
	// instant.
	Call, Return int
}

// Acceptance is an operation that the guarded resource accepted under a fence.
type Acceptance struct {
	Owner int
	Fence int64
}

// CheckFences decides for each lock whether its fences are legal. Each grant must have a
// greater fence than all earlier grants, but the owner of a reentrant lock may get its own
// fence again. The resource must not accept an older fence than one that it has seen.
// Acceptances must be in the resource's own order.
func CheckFences(ctx context.Context, reentrant bool, grants map[string][]Grant, accepted map[string][]Acceptance) map[string]Answer {
	porcupine := within(ctx, porcupineLimit, spec{fenced: true, again: reentrant})
	answers := map[string]Answer{}
	for lock, all := range grants {
		answers[lock] = porcupine.askPorcupine(instants(all))
	}
	for lock, all := range accepted {
		switch {
		case !inOrder(all):
			answers[lock] = Illegal
		case answers[lock] == "":
			answers[lock] = Legal
		}
	}
	return answers
}

// instants shrinks each grant to one instant: see the comment at the top of this file.
func instants(grants []Grant) []recording {
	all := slices.Clone(grants)
	slices.SortFunc(all, func(a, b Grant) int { return cmp.Or(cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.Call, b.Call)) })
	latest := map[int64]int{} // by fence: the last call among the grants with this fence or a smaller one
	last := 0
	for _, g := range all {
		last = max(last, g.Call)
		latest[g.Fence] = last
	}
	instant := func(g Grant) int { return min(g.Return, latest[g.Fence]) }
	slices.SortStableFunc(all, func(a, b Grant) int { return cmp.Compare(instant(a), instant(b)) })
	ops := make([]recording, len(all))
	for i, g := range all {
		ops[i] = at(i, action{owner: g.Owner, fence: g.Fence, passing: true})
	}
	return ops
}

// inOrder reports whether no fence is smaller than one before; the resource has seen 0 at first.
func inOrder(accepted []Acceptance) bool {
	seen := int64(0)
	for _, a := range accepted {
		if a.Fence < seen {
			return false
		}
		seen = a.Fence
	}
	return true
}
