package linear

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// How operations of unknown outcome are modelled.
//
// An operation that ended with info, or never ended, takes effect at any time after its
// invocation, or never. If such an operation stayed open to the end of the history, it
// would be concurrent with all later operations, and porcupine would have to try every
// subset of such operations. Therefore porcupine gets only the invocation of such an operation. The
// invocation adds the operation's effect to a pool, which is part of the model's state. An operation
// that happened may first take the effects that it needs out of the pool:
//
//   - an acquire that is not legal takes a release of an owner that is in its way;
//   - a release that is not legal takes an acquire of its owner.
//
// All other effects stay in the pool, since they can happen later, or never. Leaving them there excludes
// no legal order: whether an acquire is legal depends on the holds of others, and an acquire in the pool
// adds no hold; whether a release is legal depends on its owner's holds alone. The exception is a reentrant
// lock with fences, whose owner gets its old fence again only while it holds the lock. There the owner of
// an operation may have acquired the lock once more before, and both outcomes are tried.
//
// If an operation could take one of several effects, the model tries each: it is
// nondeterministic. An effect that no operation takes never happened.

// lot is a number of equal effects in a pool.
type lot struct {
	action
	n int
}

// pool is a multiset of effects, in ascending order. It is never changed.
type pool []lot

func (p pool) find(a action) (int, bool) {
	return slices.BinarySearchFunc(p, a, func(l lot, a action) int { return compareActions(l.action, a) })
}

// count returns how many effects a are in the pool.
func (p pool) count(a action) int {
	if i, found := p.find(a); found {
		return p[i].n
	}
	return 0
}

// with returns the pool after adding n effects a; n may be negative.
func (p pool) with(a action, n int) pool {
	i, found := p.find(a)
	p = slices.Clone(p)
	if !found {
		p = slices.Insert(p, i, lot{a, 0})
	}
	if p[i].n += n; p[i].n == 0 {
		p = slices.Delete(p, i, i+1)
	}
	return p
}

func compareActions(a, b action) int {
	rank := func(a action) int {
		if a.release {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(rank(a), rank(b)), cmp.Compare(a.mode, b.mode), cmp.Compare(a.fence, b.fence))
}

// acquires returns the acquires in the pool that the release a would undo.
func (p pool) acquires(a action) []action {
	var all []action
	i, _ := p.find(action{owner: a.owner, fence: anyFence}) // the first of the owner
	for ; i < len(p) && p[i].owner == a.owner && !p[i].release; i++ {
		if p[i].mode == a.mode {
			all = append(all, p[i].action)
		}
	}
	return all
}

// possibleState is a possible state of the lock, plus the effects that may still happen.
type possibleState struct {
	lock held
	pool pool
}

// covers reports whether every operation that can follow o can also follow p.
func (p possibleState) covers(o possibleState) bool {
	return p.lock == o.lock && !slices.ContainsFunc(o.pool, func(l lot) bool { return p.pool.count(l.action) < l.n })
}

// modelOp is an operation in porcupine's input: an operation that happened, or the
// invocation of one that perhaps happened.
type modelOp struct {
	action
	perhaps bool
}

// possibleStates is the state of porcupine's model. It has no duplicates, and no state that another
// one of them covers.
type possibleStates []possibleState

func (all possibleStates) and(p possibleState) possibleStates {
	if all.cover(p) {
		return all
	}
	return append(slices.DeleteFunc(all, p.covers), p)
}

func (all possibleStates) cover(p possibleState) bool {
	return slices.ContainsFunc(all, func(o possibleState) bool { return o.covers(p) })
}

// same reports whether both sets are equal: each covers the other.
func (all possibleStates) same(others possibleStates) bool {
	return len(all) == len(others) &&
		!slices.ContainsFunc(all, func(p possibleState) bool { return !others.cover(p) }) &&
		!slices.ContainsFunc(others, func(p possibleState) bool { return !all.cover(p) })
}

// perhapsModel returns a porcupine model whose states are sets of possible states. The lock
// begins in one of the states in first.
func (s spec) perhapsModel(first []held) porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			var all possibleStates
			for _, lock := range first {
				all = append(all, possibleState{lock: lock})
			}
			return all
		},
		Step: func(now, input, _ any) (bool, any) {
			var after possibleStates
			for _, p := range now.(possibleStates) {
				for _, next := range s.follow(p, input.(modelOp)) {
					after = after.and(next)
				}
			}
			return len(after) > 0, after
		},
		Equal: func(a, b any) bool { return a.(possibleStates).same(b.(possibleStates)) },
	}
}

func (s spec) follow(p possibleState, in modelOp) []possibleState {
	if in.perhaps {
		return []possibleState{{p.lock, p.pool.with(in.action, 1)}}
	}
	return s.after(p, in.action)
}

// after returns the possible states after the operation a. It takes an effect out of the
// pool only if a needs the effect.
func (s spec) after(w possibleState, a action) []possibleState {
	all := s.inside(w, a)
	next, legal := s.step(w.lock, a)
	switch {
	case legal:
		return append(all, possibleState{next, w.pool})
	case a.release:
		for _, l := range w.pool.acquires(a) {
			for _, in := range s.after(possibleState{w.lock, w.pool.with(l, -1)}, l) {
				all = append(all, s.after(in, a)...)
			}
		}
		return all
	}
	for _, b := range s.blockers(w.lock, a) {
		if freed, may := s.step(w.lock, b); may && w.pool.count(b) > 0 {
			all = append(all, s.after(possibleState{freed, w.pool.with(b, -1)}, a)...)
		}
	}
	return all
}

// inside returns the states after a in which its owner had acquired the lock once more before.
func (s spec) inside(w possibleState, a action) (all []possibleState) {
	if !s.keeps() {
		return nil
	}
	for _, l := range w.pool.acquires(a) {
		if !a.release && l.fence == anyFence {
			continue // it can as well come after a
		}
		if in, legal := s.step(w.lock, l); legal {
			all = append(all, s.after(possibleState{in, w.pool.with(l, -1)}, a)...)
		}
	}
	return all
}
