package linear

import (
	"cmp"
	"math"
	"slices"
)

// How operations that may take effect later are modelled.
//
// A possible state of a history is the state of the lock, and a pool: the operations that were invoked and
// may still take effect. An operation stays in the pool until another one needs it:
//
//   - an acquire that is not legal needs a release of each owner in its way;
//   - a release that is not legal needs an acquire of its owner.
//
// Leaving all others in the pool excludes no legal order, since they can happen later, or never: whether an
// acquire is legal depends on the holds of others, and an acquire in the pool adds no hold; whether a release
// is legal depends on its owner's holds alone. There is one exception here, and one in frontier.go. The owner of
// a reentrant lock with fences gets its old fence again only while it holds the lock. So the owner of an
// operation may have acquired the lock once more before, and both are tried.
//
// Of operations in the pool with equal effects, the one that replies first takes effect first. If an operation
// could need one of several effects, each is tried. An operation of unknown outcome that none needs never happened.

// never is the due place of an operation of unknown outcome.
const never = math.MaxInt

// lot is a number of equal operations in a pool.
type lot struct {
	action
	due   int  // the place of the reply, by which the operation must take effect; or never
	alone bool // no other operation of the owner can take effect between its invocation and its reply
	n     int
}

// pool is a multiset of operations in ascending order: those of an owner, its acquires, those of a mode, and
// among these by their replies. It is never changed.
type pool []lot

func compareLots(a, b lot) int {
	switch {
	case a.owner != b.owner:
		return cmp.Compare(a.owner, b.owner)
	case a.release != b.release:
		return compareBools(a.release, b.release)
	}
	return cmp.Or(cmp.Compare(a.mode, b.mode), cmp.Compare(a.due, b.due), cmp.Compare(a.fence, b.fence))
}

func compareBools(a, b bool) int {
	if a == b {
		return 0
	} else if a {
		return 1
	}
	return -1
}

// with returns the pool after adding n operations like l; n may be negative.
func (p pool) with(l lot, n int) pool {
	i, found := slices.BinarySearchFunc(p, l, compareLots)
	switch {
	case found && p[i].n+n == 0:
		return slices.Concat(p[:i], p[i+1:])
	case found:
		p = slices.Clone(p)
		p[i].n += n
		return p
	}
	l.n = n
	return slices.Concat(p[:i], pool{l}, p[i:])
}

// of returns the operations like a that differ in their effects: for each fence, the one that replies first.
func (p pool) of(a action) (all []lot) {
	i, _ := slices.BinarySearchFunc(p, lot{action: action{owner: a.owner, release: a.release, mode: a.mode, fence: anyFence}, due: -1}, compareLots)
	for ; i < len(p) && p[i].owner == a.owner && p[i].release == a.release && p[i].mode == a.mode; i++ {
		if !slices.ContainsFunc(all, func(l lot) bool { return l.fence == p[i].fence }) {
			all = append(all, p[i])
		}
	}
	return all
}

// state is a possible state of a history.
type state struct {
	lock held
	pool pool
}

func (w state) without(l lot) state { return state{w.lock, w.pool.with(l, -1)} }

func (w state) same(o state) bool { return w.lock == o.lock && slices.Equal(w.pool, o.pool) }

// follow passes to yield each possible state after the action a, until yield returns false. It returns
// false if yield did.
func (s spec) follow(w state, a action, yield func(state) bool) bool {
	next, legal := s.step(w.lock, a)
	if legal && !yield(state{next, w.pool}) {
		return false
	}
	for _, l := range s.acquires(w, a, legal) {
		if !s.follow(w.without(l), l.action, func(in state) bool { return s.follow(in, a, yield) }) {
			return false
		}
	}
	if legal || a.release {
		return true
	}
	for _, l := range s.releases(w, a) {
		freed := w.without(l)
		if freed.lock, _ = s.step(w.lock, l.action); !s.follow(freed, a, yield) {
			return false
		}
	}
	return true
}

// acquires returns the acquires in the pool that may have to come before a, by the same owner.
func (s spec) acquires(w state, a action, legal bool) []lot {
	again := a
	again.release = false
	switch {
	case a.release && !legal:
		return w.pool.of(again)
	case !s.keeps():
		return nil
	}
	return slices.DeleteFunc(w.pool.of(again), func(l lot) bool {
		_, may := s.step(w.lock, l.action)
		return !may || !a.release && l.fence == anyFence // one with any fence can as well come after a
	})
}

// releases returns the releases in the pool that may make way for the acquire a, in order of their replies.
// Owners that do nothing else until their releases reply are interchangeable: of these it returns the first.
func (s spec) releases(w state, a action) (all []lot) {
	for _, b := range s.blockers(w.lock, a) {
		if own := w.pool.of(b); len(own) > 0 {
			all = append(all, own[0])
		}
	}
	slices.SortStableFunc(all, func(a, b lot) int { return cmp.Compare(a.due, b.due) })
	if first := slices.IndexFunc(all, func(l lot) bool { return l.alone }); first >= 0 {
		n := 0
		all = slices.DeleteFunc(all, func(l lot) bool { n++; return l.alone && n-1 != first })
	}
	return all
}
