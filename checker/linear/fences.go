package linear

import (
	"cmp"
	"context"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// Porcupine's side of fencing.
//
// A grant is one operation, from its invocation to its reply, on the model of a fenced
// lock. The operation takes the lock and releases it at once, since a lease can end without
// a release. It is legal only if its fence is greater than all earlier fences. If all fences differ,
// only one order can be legal: the order of ascending fences. Then the history is linearizable if and
// only if no grant was answered before a grant with a smaller fence was invoked.
//
// If too many grants are concurrent for a quick search, each shrinks to one instant: the
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
	end := endOf(ctx, porcupineLimit)
	locks := ModelOf(history.Claims{Reentrant: reentrant, Fenced: true}).spec.model()
	answers := map[string]Answer{}
	for lock, all := range grants {
		answers[lock] = decide(ctx, end, locks, grantOperations(all))
	}
	for lock, all := range accepted {
		a := decide(ctx, end, resourceModel, acceptances(all))
		if answers[lock] == "" || answers[lock] == Legal || a == Illegal {
			answers[lock] = a
		}
	}
	return answers
}

func grantOperations(grants []Grant) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(grants))
	for i, g := range grants {
		ops[i] = porcupine.Operation{
			ClientId: g.Owner, Input: action{owner: g.Owner, fence: g.Fence, passing: true},
			Call: int64(g.Call), Return: int64(g.Return),
		}
	}
	if width(ops) > maxWidth {
		shrinkToFences(ops)
	}
	return ops
}

// shrinkToFences shrinks each grant to one instant: see the comment at the top of this file.
func shrinkToFences(ops []porcupine.Operation) {
	fence := func(op porcupine.Operation) int64 { return op.Input.(action).fence }
	slices.SortFunc(ops, func(a, b porcupine.Operation) int {
		return cmp.Or(cmp.Compare(fence(a), fence(b)), cmp.Compare(a.Call, b.Call))
	})
	latest := map[int64]int64{} // by fence: the last call among the grants with this fence or a smaller one
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

// resourceModel is the model of a guarded resource. Its state is the greatest fence that it has seen.
var resourceModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(seen, fence, _ any) (bool, any) { return fence.(int64) >= seen.(int64), fence },
}

func acceptances(accepted []Acceptance) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(accepted))
	for i, a := range accepted {
		ops[i] = porcupine.Operation{
			ClientId: a.Owner, Input: a.Fence, Call: int64(i), Return: int64(i),
		}
	}
	return ops
}
