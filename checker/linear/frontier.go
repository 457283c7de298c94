package linear

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// How operations are judged in time that grows with their number.
//
// The frontier goes through the entries of a history in order of time. It keeps every possible state. An
// invocation puts the operation in the pool. At its reply, an operation that is still there takes effect, after
// those that it needs. If this is possible in no state, no order of the operations is legal.
//
// If each client has one process and no operation has an unknown outcome, one state is possible at a
// time, and the time is O(n log n). Such a history of a lock that admits one owner is legal if and only if no
// two spans, each from an acquire's ok to its release's invocation, overlap: an acquire takes effect at its
// reply, and a release as soon after its invocation as another acquire needs it.
//
// Otherwise the pool may have both an acquire and a release of one owner. This section may have to come before
// an acquire that replies and then keeps the lock for ever. It need not come before a release, unless the acquire
// that the release needs gets a greater fence than the section. It need not come at all if neither operation
// replies, or if anybody may release: then in any legal order the replying operation can change places
// with the first one of its kind. Both outcomes are tried.

// mostStates is the greatest number of possible states that are kept. If there are more, the answer is
// Undecided.
const mostStates = 512

// frontier is the state of one decision.
type frontier struct {
	spec    spec
	now     []state // the possible states at this point of the history
	stop    func() bool
	stopped bool // the search's time ran out
	full    bool // there are more states than mostStates
	greedy  bool // only one state is kept: see advance
	chose   bool // greedy has left out states
}

// late reports whether the search must end. Once true, it stays true.
func (f *frontier) late() bool {
	f.stopped = f.stopped || f.stop()
	return f.stopped || f.full
}

// advance judges operations by the frontier. failed is the operation whose reply made the operations
// illegal, if the answer is Illegal. The lock begins in one of the states in first.
//
// If there is one such state, advance first tries to get through with one state at a time, since
// operations of unknown outcome can make very many possible. One state is enough for Legal. It is enough for
// Illegal only if no other was possible.
func advance(ctx context.Context, end time.Time, s spec, first []held, all []recording) (answer Answer, failed recording) {
	f := frontier{spec: s, stop: stopper(ctx, end), greedy: len(first) == 1}
	all = useful(all)
	if s.permits > 0 {
		markAlone(all)
	}
	replies := make([]int, 0, len(all)) // places among all, in order of the replies
	for i, op := range all {
		if op.due != never {
			replies = append(replies, i)
		}
	}
	slices.SortFunc(replies, func(a, b int) int { return cmp.Compare(all[a].due, all[b].due) })
	if f.greedy {
		if answer, failed = f.run(first, all, replies); answer != Illegal || !f.chose {
			return answer, failed
		}
		f.greedy = false
	}
	return f.run(first, all, replies)
}

// useful returns copies of the operations, without acquires of unknown outcome after which no operation of
// their owners replies.
func useful(all []recording) []recording {
	replied := map[int]int{} // by owner: its last reply
	for i := range all {
		if op := &all[i]; op.due != never {
			replied[op.owner] = max(replied[op.owner], op.due)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(op recording) bool {
		return op.due == never && !op.release && replied[op.owner] < op.call
	})
}

// markAlone sets alone for each operation that replies, and during which its owner has no other one.
func markAlone(all []recording) {
	latest := map[int]int{} // by owner: the operation that replies last
	for i := range all {
		op := &all[i]
		op.alone = op.due != never
		was, found := latest[op.owner]
		if found && all[was].due > op.call {
			op.alone, all[was].alone = false, false
		}
		if !found || op.due >= all[was].due {
			latest[op.owner] = i
		}
	}
}

func (f *frontier) run(first []held, all []recording, replies []int) (answer Answer, failed recording) {
	f.now = nil
	for _, lock := range first {
		f.now = append(f.now, state{lock: lock})
	}
	invoked := 0
	for _, i := range replies {
		for ; invoked < len(all) && all[invoked].call < all[i].due; invoked++ {
			f.invoke(all[invoked].lot)
		}
		f.reply(all[i].lot)
		switch {
		case f.late():
			return Undecided, failed
		case len(f.now) == 0:
			return Illegal, all[i]
		}
	}
	return Legal, failed
}

// invoke adds an operation to the pools. Most states share one pool.
func (f *frontier) invoke(op lot) {
	var was, is pool
	for n, w := range f.now {
		if n == 0 || len(w.pool) != len(was) || len(was) > 0 && &w.pool[0] != &was[0] {
			was, is = w.pool, w.pool.with(op, 1)
		}
		f.now[n].pool = is
	}
}

// reply replaces the possible states by those in which the replying operation has taken effect.
func (f *frontier) reply(op lot) {
	var found []state
	for _, w := range f.now {
		if f.late() {
			return
		}
		if _, waits := slices.BinarySearchFunc(w.pool, op, compareLots); !waits {
			found = append(found, w)
			continue
		}
		for _, before := range f.before(w.without(op), op.action) {
			f.spec.follow(before, op.action, func(after state) bool {
				if f.greedy && len(found) == 1 {
					f.chose = true
					return false
				}
				found = f.add(found, after)
				return !f.late()
			})
			if f.greedy && len(found) == 1 {
				break
			}
		}
	}
	f.now = distinct(found)
	f.full = f.full || len(f.now) > mostStates
}

// add appends a state. It drops equal states if there are many.
func (f *frontier) add(all []state, w state) []state {
	if all = append(all, w); len(all) > 2*mostStates {
		all = distinct(all)
		f.full = f.full || len(all) > mostStates
	}
	return all
}

// distinct drops equal states.
func distinct(all []state) []state {
	if len(all) < 2 {
		return all
	}
	slices.SortFunc(all, func(a, b state) int {
		return cmp.Or(cmp.Compare(a.lock.seats, b.lock.seats), cmp.Compare(a.lock.fence, b.lock.fence), cmp.Compare(a.lock.by, b.lock.by),
			slices.CompareFunc(a.pool, b.pool, func(a, b lot) int { return cmp.Or(compareLots(a, b), cmp.Compare(a.n, b.n)) }))
	})
	return slices.CompactFunc(all, state.same)
}

// before returns the possible states before a takes effect: w itself, and those after sections of any owners.
// A greedy search tries only the sections that have to come anyway, and these first.
func (f *frontier) before(w state, a action) []state {
	all := []state{w}
	if f.spec.anyone || a.release && !f.spec.fenced {
		return all
	}
	for n := 0; n < len(all) && !f.late(); n++ {
		f.sections(all[n], func(out state) bool {
			if !slices.ContainsFunc(all, out.same) {
				all = append(all, out)
				f.full = len(all) > mostStates
			}
			return !f.greedy && !f.late()
		})
	}
	if f.greedy {
		slices.Reverse(all)
	}
	return all
}

// sections passes to yield the states after an acquire and a release of one owner took effect, until yield
// returns false. If the search is greedy, these are only releases that reply and need such an acquire, which
// nobody keeps out.
func (f *frontier) sections(w state, yield func(state) bool) {
	for i, x := range w.pool {
		if x.release || i > 0 && w.pool[i-1].action == x.action {
			continue
		}
		y := x.action
		y.release = true
		releases := w.pool.of(y)
		if len(releases) == 0 || x.due == never && releases[0].due == never {
			continue
		}
		if f.chose = true; f.greedy {
			_, freed := f.spec.step(w.lock, y)
			_, open := f.spec.step(w.lock, x.action)
			if freed || !open || releases[0].due == never {
				continue
			}
		}
		if !f.spec.follow(w.without(x), x.action, func(in state) bool {
			left := in.pool.of(y)
			if len(left) == 0 {
				return true
			}
			out := in.without(left[0])
			out.lock, _ = f.spec.step(in.lock, y)
			return yield(out)
		}) {
			return
		}
	}
}
