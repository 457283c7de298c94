package linear

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
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
//   - The owner of a reentrant lock gets its old fence again only if it still holds the lock. So if the
//     lock has fences, the frontier also tries the replying owner's other acquires before the reply.
//   - If any of several releases makes way for an acquire, the frontier takes the one that replies
//     first: the other releases, even those of unknown outcome, can take effect later in its stead. This
//     argument covers owners with no other available operation. For other owners, the frontier tries
//     every release.
//   - If anybody may release, all acquires are alike, and so are all releases. Then no section
//     has to come early: in any legal order, the replying operation can change places with the
//     first operation of its kind.
//
// If each client has one process and no operation has an unknown outcome, there is one
// situation at a time, and the time is O(n log n). Such a history of a lock that admits one owner is legal
// if and only if no two spans, each from an acquire's ok to its release's invocation, overlap: an acquire
// takes effect at its reply, and a release as soon after its invocation as another acquire needs it.

// mostSituations is the greatest number of situations that are kept. If there are more, the
// answer is Undecided.
const mostSituations = 512

// situation is one possibility for the lock at a point of the history.
type situation struct {
	lock held
	// early lists, ascending, the operations that took effect before their replies, and the
	// operations of unknown outcome that took effect.
	early []int
}

func (s situation) has(op int) bool {
	_, found := slices.BinarySearch(s.early, op)
	return found
}

func (s situation) with(op int) situation {
	at, _ := slices.BinarySearch(s.early, op)
	return situation{s.lock, slices.Insert(slices.Clone(s.early), at, op)}
}

func (s situation) without(op int) situation {
	return situation{s.lock, slices.DeleteFunc(slices.Clone(s.early), func(i int) bool { return i == op })}
}

// situations is a set of situations.
type situations struct {
	all  []situation
	seen map[situationKey]bool // nil for fewer than two situations
}

type situationKey struct {
	lock  held
	early string
}

func (s situation) key() situationKey { return situationKey{s.lock, fmt.Sprint(s.early)} }

func (g *situations) add(more ...situation) {
	for _, s := range more {
		switch {
		case len(g.all) == 0:
		case g.seen == nil:
			g.seen = map[situationKey]bool{g.all[0].key(): true}
			fallthrough
		default:
			if g.seen[s.key()] {
				continue
			}
			g.seen[s.key()] = true
		}
		g.all = append(g.all, s)
	}
}

// frontier is the state of one decision: the situations that are possible at this point of the
// history.
type frontier struct {
	spec    spec
	all     []recording
	now     []situation
	owners  map[int]available
	mixed   map[int]bool // owners whose available operations are mixed: see available.mixed
	stop    func() bool
	stopped bool // the search's time ran out
	full    bool // there are more situations than mostSituations
	greedy  bool // only one situation is kept: see advance
	chose   bool // greedy has left out situations
}

// late reports whether the search's time is over. Once true, it stays true.
func (f *frontier) late() bool {
	f.stopped = f.stopped || f.stop()
	return f.stopped
}

// event is the invocation or the reply of an operation.
type event struct {
	place int
	op    int
	reply bool
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
//
// If there is one such state, advance first tries to get through with one situation at a time, since
// operations of unknown outcome can make very many possible. One situation is enough for Legal. It is
// enough for Illegal only if no other was possible.
func advance(ctx context.Context, end time.Time, s spec, first []held, all []recording) (answer Answer, failed int) {
	f := frontier{spec: s, all: all, stop: stopper(ctx, end)}
	events := eventsOf(all)
	if f.greedy = len(first) == 1; f.greedy {
		if answer, failed = f.run(first, events); answer != Illegal || !f.chose {
			return answer, failed
		}
		f.greedy = false
	}
	return f.run(first, events)
}

func (f *frontier) run(first []held, events []event) (answer Answer, failed int) {
	f.owners, f.mixed, f.now = map[int]available{}, map[int]bool{}, nil
	for _, lock := range first {
		f.now = append(f.now, situation{lock: lock})
	}
	for _, e := range events {
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

// reply replaces the situations by those in which the replying operation has taken effect. If reply
// sets f.full or f.stopped, the situations stay as they were.
func (f *frontier) reply(i int) {
	var found situations
	acquires, sections := f.earlier(i)
	for _, s := range f.now {
		if f.late() {
			return
		}
		if s.has(i) {
			found.add(s.without(i))
			continue
		}
		if next, legal := f.spec.step(s.lock, f.all[i].action); legal && !acquires && !sections {
			found.add(situation{next, s.early})
			continue
		}
		// Nothing that the operation needs can be the operation itself: it counts as used up.
		for _, before := range f.before(s.with(i), i, acquires, sections) {
			for _, after := range f.effect(before, i) {
				found.add(after.without(i))
			}
			if f.full = f.full || len(found.all) > mostSituations; f.full || f.stopped {
				return
			}
			if f.greedy && len(found.all) > 0 {
				break
			}
		}
	}
	f.forget(i)
	f.now = f.pick(found.all)
	f.settle()
}

// settle forgets the operations of unknown outcome that took effect in every situation.
func (f *frontier) settle() {
	if len(f.now) == 0 {
		return
	}
	for _, op := range f.now[0].early {
		if !f.all[op].perhaps || slices.ContainsFunc(f.now, func(s situation) bool { return !s.has(op) }) {
			continue
		}
		f.forget(op)
		for n, s := range f.now {
			f.now[n] = s.without(op)
		}
	}
}

// earlier reports whether other acquires of its owner, and sections, may have to come before operation i.
func (f *frontier) earlier(i int) (acquires, sections bool) {
	op := &f.all[i]
	acquires = f.spec.keeps() && !f.owners[op.owner].simple()
	return acquires, len(f.mixed) > 0 && (!op.release || f.spec.fenced)
}

// before returns the situations in which the operation i may reply: s itself, and the
// situations that follow from s by sections and by other acquires of i's owner, if any may come earlier.
func (f *frontier) before(s situation, i int, acquires, sections bool) []situation {
	g := situations{all: []situation{s}}
	switch {
	case !acquires && !sections:
		return g.all
	case f.greedy:
		f.chose = true
		return []situation{f.owed(s), s}
	}
	for n := 0; n < len(g.all) && !f.full && !f.late(); n++ {
		from := g.all[n]
		for _, owner := range slices.Sorted(maps.Keys(f.mixed)) {
			if sections && len(g.all) <= mostSituations {
				f.section(&g, from, owner)
			}
		}
		for op := range f.usable(from, f.all[i].owner, false) {
			if acquires {
				g.add(f.effect(from.with(op), op)...)
			}
		}
		f.full = f.full || len(g.all) > mostSituations
	}
	return g.all
}

// owed returns the situation after releases that will be answered, and that each need an acquire of
// unknown outcome which nobody keeps out. Both have to take effect anyway.
func (f *frontier) owed(s situation) situation {
	for _, owner := range slices.Sorted(maps.Keys(f.mixed)) {
		for release := range f.usable(s, owner, true) {
			if _, legal := f.spec.step(s.lock, f.all[release].action); legal || f.all[release].perhaps {
				break
			}
			after := f.effect(s.with(release), release)
			if len(after) > 0 && len(after[0].early) == len(s.early)+2 {
				s = after[0]
			}
		}
	}
	return s
}

// pick keeps only the first situation if the search is greedy.
func (f *frontier) pick(all []situation) []situation {
	if !f.greedy || len(all) < 2 {
		return all
	}
	f.chose = true
	return all[:1]
}

// section adds the situations after an acquire and a release of one owner took effect.
func (f *frontier) section(g *situations, s situation, owner int) {
	for acquire := range f.usable(s, owner, false) {
		for _, in := range f.effect(s.with(acquire), acquire) {
			for release := range f.usable(in, owner, true) {
				if f.all[release].mode == f.all[acquire].mode {
					g.add(f.effect(in.with(release), release)...)
				}
			}
		}
	}
}

// effect returns the situations after operation i took effect, preceded by the operations
// that i needs. i is used up in s.
func (f *frontier) effect(s situation, i int) []situation {
	if next, legal := f.spec.step(s.lock, f.all[i].action); legal {
		return []situation{{next, s.early}}
	}
	var all []situation
	for _, need := range f.needs(s, &f.all[i]) {
		for _, ready := range f.effect(s.with(need), need) {
			if all = append(all, f.effect(ready, i)...); f.greedy && len(all) > 0 {
				f.chose = true
				return all[:1]
			}
		}
	}
	return all
}

// needs returns the operations that may make an operation legal; one of them must come before it.
// Owners with no other available operation are interchangeable: of their releases it
// returns only the one that replies first.
func (f *frontier) needs(s situation, op *recording) (all []int) {
	if op.release {
		for acquire := range f.usable(s, op.owner, false) {
			if f.all[acquire].mode != op.mode {
				continue
			}
			if all = append(all, acquire); f.spec.anyone {
				break // all acquires are alike, and this one replies first
			}
		}
		return all
	}
	best := -1
	for _, b := range f.spec.blockers(s.lock, op.action) {
		simple := f.owners[b.owner].simple()
		for release := range f.usable(s, b.owner, true) {
			switch {
			case f.all[release].mode != b.mode:
				continue
			case !simple:
				all = append(all, release)
			case best < 0 || f.all[release].reply < f.all[best].reply:
				best = release
			}
			if f.spec.anyone {
				break
			}
		}
	}
	if best >= 0 {
		all = append(all, best)
	}
	return all
}
