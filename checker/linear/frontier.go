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
// The frontier goes through the entries of a history in order of time. It keeps every
// situation that the lock can be in: the lock's state, and the operations that took effect
// before their replies. An invocation makes an operation available. At a reply the
// operation must have taken effect. So a situation in which the operation has not taken effect is
// replaced by the situations in which it takes effect now, perhaps after other available
// operations. If no situation is left, no order of the operations is legal.
//
// It would be right to try every sequence of available operations before each reply, but
// the number of sequences is exponential. Most of them need not be tried:
//
//   - An operation that the replying operation does not need can take effect later. An acquire
//     needs only the releases of the owners in its way: its legality depends on others' holds,
//     and fewer holds never hinder it. A release needs only its owner's acquire.
//   - The exception is a section: an acquire and a release of one owner, both available. A section
//     may have to come before the replying acquire, since this acquire may keep the lock for ever. A
//     section need not come before a replying release, unless the acquire that the release needs gets
//     a greater fence than the section. The frontier tries these sections. They occur only with
//     operations of unknown outcome, or with clients that run several processes.
//   - If several operations of the replying owner are available, the frontier tries them
//     before the reply: fences may depend on their order.
//   - If any of several releases makes way for an acquire, the frontier takes the one that replies
//     first: the other releases, even those of unknown outcome, can take effect later in its stead. This
//     argument covers owners with no other available operation. For other owners, the frontier tries
//     every release.
//   - If anybody may release, all acquires are alike, and so are all releases. Then no section
//     has to come early: in any legal order, the replying operation can change places with the
//     first operation of its kind.
//
// If each client has one process and no operation has an unknown outcome, there is one
// situation at a time, and the time is O(n log n).

// mostSituations is the greatest number of situations that are kept. If there are more, the
// answer is Undecided.
const mostSituations = 512

// situation is one possibility for the lock at a point of the history.
type situation struct {
	lock any
	// early lists, ascending, the operations that took effect before their replies, and the
	// operations of unknown outcome that took effect.
	early []int
}

// key encodes early. Together with the lock's state, it identifies the situation.
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

// frontier is the state of one decision: the situations that are possible at this point of the
// history.
type frontier struct {
	rules  *rules
	all    []recording
	now    []situation
	owners map[int]*available
	mixed  map[int]bool // owners whose available operations are mixed: see available.mixed
	full   bool         // there were more situations than mostSituations
	// stop reports whether the time is over; stopped is its last answer. The search calls
	// stop for each situation that it extends, since one reply may extend very many.
	stop    func() bool
	stopped bool
}

type event struct {
	place int
	op    int
	reply bool
}

// late reports whether the search's time is over. Once true, it stays true.
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

// advance judges operations by the frontier. failed is the operation whose reply made the
// operations illegal; -1 if the answer is not Illegal. The lock begins in one of the states
// in first.
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

// forget makes an operation unavailable for ever.
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

// usable returns the available operations that have not taken effect in the situation,
// except the replying one. Of equal operations of unknown outcome, it returns only the
// first.
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

// reply replaces the situations by those in which the replying operation has taken effect. If reply
// sets f.full or f.stopped, the situations stay as they were.
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
	of  map[any]map[string]bool // the situations in all, by lock state and key; nil for fewer than two
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

// before returns the situations in which the operation i may reply: s itself, and the
// situations that follow from s by early sections and early operations of i's owner.
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

// section returns the situations after an acquire and a release of one owner took effect. Neither of
// the two is the replying operation.
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

// effect returns the situations after operation i took effect, preceded by the operations
// that i needs. The replying operation takes effect last, so no operation needs it.
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
		own := f.owners[op.owner] // the owner has at least this release available
		for acquire := range f.usable(s, &own.acquires, replying) {
			if f.all[acquire].mode != op.mode {
				continue
			}
			if try(acquire); f.rules.anyone {
				break // all acquires are alike, and this one replies first
			}
		}
		return all
	}
	for _, need := range f.freeing(s, op.action, i, replying) {
		try(need)
	}
	return all
}

// freeing returns the releases that may make way for the acquire a; one of them is enough.
// Owners with no other available operation are interchangeable: of their releases it
// returns only the one that replies first.
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
