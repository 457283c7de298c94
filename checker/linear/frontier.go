package linear

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How operations are judged in time that grows with their number.
//
// The frontier goes through the entries of a history in order of time and keeps every
// situation that the lock can be in: its state, and which operations took effect before
// their replies. At an invocation an operation becomes available. At a reply the operation
// must have taken effect, so that each situation in which it has not is replaced by those in
// which it takes effect now, perhaps after others that are available. If no situation is
// left, no order of the operations is legal.
//
// It would be right to try every sequence of available operations before each reply, but
// that is exponential in their number. Most need not be tried:
//
//   - An operation that the replying one does not need can take effect later. Whether an
//     acquire is legal depends on others' holds, and fewer holds never hinder. An acquire
//     needs the releases of the owners in its way, a release needs its owner's acquire.
//   - The exception is an owner for which both an acquire and a release are available: the
//     section must perhaps come before the replying acquire, which may then keep the lock
//     for ever. A replying release hinders none, unless the acquire that it needs gets a fence
//     that is too great for the section's. One of the two has an unknown outcome, or one client
//     runs several processes. Such sections are tried.
//   - An owner's own acquires and releases are tried before its reply too, if several are
//     available: fences may depend on their order.
//   - If several releases would do, that of the earliest reply is taken: any other can take
//     its place later. So can one of unknown outcome. That is argued for owners of which
//     nothing else is available; others are tried too.
//   - If anybody may release, all acquires are alike and so are all releases. Then no
//     section need come early: in any legal order, the replying operation can change places
//     with the first of its kind.
//
// Clients with one process each, and without operations of unknown outcome, leave one
// situation at a time, so that the time is O(n log n).

// mostSituations bounds how many situations are kept. Beyond it, the answer is Undecided.
const mostSituations = 512

// situation is a state that the lock can be in.
type situation struct {
	lock any
	// early lists operations, ascending, that took effect before their replies, and those of
	// unknown outcome that took effect.
	early []int
}

// key identifies a situation.
func (s situation) key() string {
	var b strings.Builder
	for _, i := range s.early {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte(' ')
	}
	return b.String()
}

func (s situation) after(lock any, op int) situation {
	at, _ := slices.BinarySearch(s.early, op)
	return situation{lock, slices.Insert(slices.Clone(s.early), at, op)}
}

func (s situation) has(op int) bool {
	_, found := slices.BinarySearch(s.early, op)
	return found
}

// frontier is the state of one decision.
type frontier struct {
	rules  *rules
	all    []recording
	now    []situation
	owners map[int]*available
	mixed  map[int]bool // owners for which available.mixed
	full   bool         // there were more than mostSituations
	// stop says whether the time is over; stopped is its last answer. The search asks for each
	// situation that it extends: one reply may have very many.
	stop    func() bool
	stopped bool
}

// event is an invocation or a reply of an operation.
type event struct {
	place int
	op    int
	reply bool
}

// late reports whether the time is over, and keeps that it is.
func (f *frontier) late() bool {
	f.stopped = f.stopped || f.stop()
	return f.stopped
}

func eventsOf(all []recording) []event {
	events := make([]event, 0, 2*len(all))
	for i, op := range all {
		events = append(events, event{op.call, i, false})
		if !op.perhaps {
			events = append(events, event{op.reply, i, true})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Compare(a.place, b.place) })
	return events
}

// advance judges operations by the frontier. failed is the operation at whose reply they
// became illegal; -1 if the answer is not Illegal. The lock begins in one of the states in
// first.
func advance(ctx context.Context, end time.Time, r *rules, first []any, all []recording) (answer Answer, failed int) {
	f := frontier{rules: r, all: all, owners: map[int]*available{}, mixed: map[int]bool{}, stop: stopper(ctx, end)}
	for _, lock := range first {
		f.now = append(f.now, situation{lock: lock})
	}
	for _, e := range eventsOf(all) {
		if f.late() {
			return Undecided, -1
		}
		if !e.reply {
			f.invoke(e.op)
			continue
		}
		f.reply(e.op)
		switch {
		case f.full, f.stopped:
			return Undecided, -1
		case len(f.now) == 0:
			return Illegal, e.op
		}
	}
	return Legal, -1
}

// invoke makes an operation available.
func (f *frontier) invoke(i int) {
	op := &f.all[i]
	a := f.owners[op.owner]
	if a == nil {
		a = &available{}
		f.owners[op.owner] = a
	}
	list := a.of(op.release)
	if op.perhaps {
		list.add(op.action, i)
	} else {
		at, _ := slices.BinarySearchFunc(list.certain, op.reply, func(o, reply int) int { return cmp.Compare(f.all[o].reply, reply) })
		list.certain = slices.Insert(list.certain, at, i)
	}
	f.mix(op.owner, a)
}

// forget makes an operation unavailable for good.
func (f *frontier) forget(i int) {
	op := &f.all[i]
	a := f.owners[op.owner]
	if list := a.of(op.release); op.perhaps {
		list.drop(op.action, i)
	} else {
		list.certain = without(list.certain, i)
	}
	if a.acquires.len()+a.releases.len() == 0 {
		delete(f.owners, op.owner)
	}
	f.mix(op.owner, a)
}

func (f *frontier) mix(owner int, a *available) {
	if f.rules.anyone || !a.mixed() {
		delete(f.mixed, owner)
	} else {
		f.mixed[owner] = true
	}
}

// usable returns the operations that may take effect in the situation before the one that
// replies. Of those of unknown outcome that are alike, it returns the first.
func (f *frontier) usable(s situation, w *waiting, replying int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range w.certain {
			if i != replying && !s.has(i) && !yield(i) {
				return
			}
		}
		for _, p := range w.perhaps {
			at := slices.IndexFunc(p.ops, func(i int) bool { return !s.has(i) })
			if at >= 0 && !yield(p.ops[at]) {
				return
			}
		}
	}
}

// reply replaces the situations by those in which the operation has taken effect.
func (f *frontier) reply(i int) {
	var found gathering
	for _, s := range f.now {
		if f.late() {
			return
		}
		if at, done := slices.BinarySearch(s.early, i); done {
			found.add(situation{s.lock, slices.Delete(slices.Clone(s.early), at, at+1)})
			continue
		}
		for _, before := range f.before(s, i) {
			for _, after := range f.effect(before, i, i) {
				found.add(after)
			}
			if f.full = f.full || len(found.all) > mostSituations; f.full || f.stopped {
				return
			}
		}
	}
	f.forget(i)
	f.now = found.all
	f.settle()
}

// settle forgets the operations of unknown outcome that took effect in every situation.
func (f *frontier) settle() {
	if len(f.now) == 0 {
		return
	}
	for _, op := range slices.Clone(f.now[0].early) {
		if !f.all[op].perhaps || slices.ContainsFunc(f.now, func(s situation) bool { return !s.has(op) }) {
			continue
		}
		f.forget(op)
		for n := range f.now {
			s := &f.now[n]
			at, _ := slices.BinarySearch(s.early, op)
			s.early = slices.Delete(slices.Clone(s.early), at, at+1)
		}
	}
}

// gathering collects situations without duplicates.
type gathering struct {
	all []situation
	of  map[any]map[string]bool // nil while there is at most one
}

func (g *gathering) add(s situation) {
	if g.all = append(g.all, s); len(g.all) == 1 {
		return
	}
	if g.of == nil {
		g.of = map[any]map[string]bool{g.all[0].lock: {g.all[0].key(): true}}
	}
	k := s.key()
	switch {
	case g.of[s.lock] == nil:
		g.of[s.lock] = map[string]bool{k: true}
	case g.of[s.lock][k]:
		g.all = g.all[:len(g.all)-1]
	default:
		g.of[s.lock][k] = true
	}
}

// before returns the situations in which the operation i may reply: s, and those that early
// sections, and early operations of i's owner, make of it.
func (f *frontier) before(s situation, i int) []situation {
	own := f.owners[f.all[i].owner]
	alone := own.simple() || f.rules.anyone
	sections := len(f.mixed) > 0 && (!f.all[i].release || f.rules.greatest != nil)
	if alone && !sections {
		return []situation{s}
	}
	var g gathering
	g.add(s)
	for n := 0; n < len(g.all) && !f.full && !f.late(); n++ {
		from := g.all[n]
		for _, owner := range slices.Sorted(maps.Keys(f.mixed)) {
			if !sections || len(g.all) > mostSituations {
				break
			}
			for _, next := range f.section(from, f.owners[owner], i) {
				g.add(next)
			}
		}
		if !alone {
			for _, w := range []*waiting{&own.acquires, &own.releases} {
				for op := range f.usable(from, w, i) {
					for _, next := range f.effect(from, op, i) {
						g.add(next)
					}
				}
			}
		}
		f.full = f.full || len(g.all) > mostSituations
	}
	return g.all
}

// section returns the situations after an acquire and a release of one owner. The operation
// replying is not part of it.
func (f *frontier) section(s situation, a *available, replying int) (all []situation) {
	for acquire := range f.usable(s, &a.acquires, replying) {
		for _, held := range f.effect(s, acquire, replying) {
			for release := range f.usable(held, &a.releases, replying) {
				if f.all[release].mode == f.all[acquire].mode {
					all = append(all, f.effect(held, release, replying)...)
				}
			}
		}
	}
	return all
}

// effect returns the situations after the operation i took effect, once those that it needs
// did. The operation replying takes effect last, so that none needs it.
func (f *frontier) effect(s situation, i, replying int) []situation {
	op := &f.all[i]
	if next, legal := f.rules.step(s.lock, op.action); legal {
		if i == replying {
			return []situation{{next, s.early}}
		}
		return []situation{s.after(next, i)}
	}
	var all []situation
	try := func(need int) {
		for _, ready := range f.effect(s, need, replying) {
			if i != need && !ready.has(i) {
				all = append(all, f.effect(ready, i, replying)...)
			}
		}
	}
	if op.release {
		own := f.owners[op.owner] // it has this release at least
		for acquire := range f.usable(s, &own.acquires, replying) {
			if f.all[acquire].mode != op.mode {
				continue
			}
			if try(acquire); f.rules.anyone {
				break // all are alike, and this one replies first
			}
		}
		return all
	}
	for _, need := range f.freeing(s, op.action, i, replying) {
		try(need)
	}
	return all
}

// freeing returns releases, one of which may come before the acquire a. Owners that have
// nothing else available are interchangeable: of these it returns only the release that
// replies first.
func (f *frontier) freeing(s situation, a action, acquire, replying int) (all []int) {
	best := -1
	for _, b := range f.rules.blockers(s.lock, a) {
		own := f.owners[b.owner]
		if own == nil {
			continue
		}
		for release := range f.usable(s, &own.releases, replying) {
			switch {
			case release == acquire || f.all[release].mode != b.mode:
				continue
			case own.simple():
				if best < 0 || f.all[release].reply < f.all[best].reply {
					best = release
				}
			default:
				all = append(all, release)
			}
			if f.rules.anyone {
				break
			}
		}
	}
	if best >= 0 {
		all = append(all, best)
	}
	return all
}
