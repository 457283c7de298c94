package linear

import (
	"slices"
	"sort"
	"time"
)

// How a minimal conflict is found.
//
// It would not work to leave out operations one by one while the history stays illegal. For
// example, two acquires conflict as soon as the release between them is left out; such a
// conflict says nothing about the history. Instead, an operation that happened is turned
// into one that perhaps happened. This never makes a legal history illegal. If the illegal history
// stays illegal, the conflict does not need the operation.
//
// First the history is cut after the first reply that makes it illegal. An operation that
// is open at the cut becomes one that perhaps happened. Then each operation in turn, from
// the first on, also becomes one that perhaps happened, unless this makes the history
// legal. The operations that remain certain are the conflict. If anybody may release, the
// conflict often contains almost all acquires and releases. Then the conflict under stricter rules is
// reported instead: only owners may release.

// mostTold is the greatest size of a conflict that a sentence lists. If a conflict is
// larger, the search looks for one under the stricter rules.
const mostTold = 8

// mostCertain is the number of operations above which the search tries the stricter rules first: if
// anybody may release, the conflict of a long history often contains most of the history.
const mostCertain = 256

// clash is a set of operations that cannot all have happened.
type clash struct {
	ops     []recording // in order of invocation
	last    recording   // the operation whose reply made them conflict
	first   []held      // the lock's possible states before ops; nil for the initial state
	minimal bool        // false if the time ran out
	strict  bool        // a conflict only under the stricter rules: see Conflict.OwnersOnly
}

func (c clash) result(s spec) *Conflict {
	conflict := &Conflict{Last: c.last.place, Minimal: c.minimal, OwnersOnly: c.strict, Anyone: s.anyone && !c.strict}
	for _, op := range c.ops {
		conflict.Operations = append(conflict.Operations, op.place)
	}
	return conflict
}

// conflict finds a clash in operations that are not linearizable.
func (s search) conflict(all []recording) clash {
	last := s.firstIllegal(all)
	strict := func(end time.Time) (c clash) {
		s := s.strict(end)
		c = s.smallest(s.until(owning(all), last.reply), last)
		c.strict = true
		return c
	}
	if !s.spec.anyone {
		return s.smallest(s.until(all, last.reply), last)
	}
	half := time.Now().Add(time.Until(s.end) / 2)
	if len(all) > mostCertain {
		if c := strict(half); c.minimal {
			return c
		}
	}
	first := s
	first.end = half
	c := first.smallest(s.until(all, last.reply), last)
	if !c.minimal || len(c.ops) > mostTold {
		if owners := strict(s.end); owners.minimal {
			return owners
		}
	}
	return c
}

// firstIllegal returns the operation whose reply made the history illegal.
func (s search) firstIllegal(all []recording) recording {
	from := -1
	if answer, failed := s.askFrontier(all); answer == Illegal {
		if from = all[failed].reply; s.violated(s.until(all, from)) {
			return all[failed]
		}
		// The history up to this reply is legal after all, so that a later reply made it illegal.
		// The frontier found it illegal only because it already knew fences of later replies.
	}
	var replied []recording
	for _, op := range all {
		if !op.perhaps && op.reply > from {
			replied = append(replied, op)
		}
	}
	slices.SortFunc(replied, func(a, b recording) int { return a.reply - b.reply })
	// The history up to the last reply is known to be illegal, so that the search need not check it.
	n := sort.Search(len(replied)-1, func(i int) bool { return s.violated(s.until(all, replied[i].reply)) })
	return replied[n]
}

// smallest reduces operations to a minimal conflict. last is the operation whose reply
// shows that they are illegal.
func (s search) smallest(ops []recording, last recording) clash {
	c := clash{last: last}
	if w, from := s.window(ops); w != nil {
		ops, s.first, c.first = w, from, from
	}
	for from := 0; from < len(ops); from++ {
		if rest := s.sparing(ops, from, last); s.violated(rest) {
			// The operations in c.ops and the last operation suffice for a conflict.
			if !slices.ContainsFunc(c.ops, func(op recording) bool { return op.place == last.place }) {
				c.ops = append(c.ops, last)
			}
			break
		}
		spare := sort.Search(len(ops)-from, func(n int) bool { return !s.violated(s.spared(ops, from, from+n+1)) })
		ops = s.spared(ops, from, from+spare)
		if from += spare; from < len(ops) && !ops[from].perhaps {
			c.ops = append(c.ops, ops[from])
		}
	}
	if c.minimal = s.inTime(); !c.minimal {
		c.ops = []recording{c.last}
	}
	return c
}

// mostWindow bounds the length of the runs that window tries: a longer run may have too
// many possible states before it.
const mostWindow = 2048

// window returns the shortest run at the end of the operations that is illegal in every
// possible state before the run, and those states; nil if there is none. It tries short
// runs first: longer runs have more possible states before them.
func (s search) window(all []recording) (ops []recording, first []held) {
	try := func(n int) bool {
		w := s
		some := since(all, len(all)-n, s)
		w.first = s.spec.anywhere(ownersAndDepth(some))
		if w.first == nil || !w.violated(some) {
			return false
		}
		ops, first = some, w.first
		return true
	}
	n := 1
	for n < min(len(all), mostWindow) && !try(n) {
		n *= 2
	}
	if ops != nil {
		low := n / 2 // the run of this length is not illegal
		try(low + 1 + sort.Search(n-low-1, func(i int) bool { return try(low + 1 + i) }))
	}
	return ops, first
}

// since drops the operations that ended before the operation at i was invoked. Earlier
// operations that were still open at that invocation become operations that perhaps happened.
func since(all []recording, i int, s search) []recording {
	var kept []recording
	for at, op := range all {
		switch {
		case at < i && !op.perhaps && op.reply < all[i].call:
			continue
		case at < i:
			op = s.spare(op)
		}
		kept = append(kept, op)
	}
	return kept
}

// ownersAndDepth returns the owners of these operations, and the number of their releases
// plus one.
func ownersAndDepth(all []recording) (owners []int, depth int) {
	for _, op := range all {
		if !slices.Contains(owners, op.owner) {
			owners = append(owners, op.owner)
		}
		if op.release {
			depth++
		}
	}
	return owners, depth + 1
}

// violated reports whether the operations are illegal. It returns false if there is no time
// left to decide; then the search spares no further operation.
func (s search) violated(all []recording) bool {
	answer, _ := s.askFrontier(all)
	if answer == Undecided && len(all) <= MaxOperations {
		answer = s.decide(all)
	}
	return answer == Illegal
}

// until returns the history up to and including the entry at the place last.
func (s search) until(all []recording, last int) []recording {
	var kept []recording
	for _, op := range all {
		if op.call > last {
			break
		}
		if op.reply > last {
			op = s.spare(op)
		}
		kept = append(kept, op)
	}
	return kept
}

// spared returns a copy of the operations in which each of all[from:to] only perhaps happened.
func (s search) spared(all []recording, from, to int) []recording {
	all = slices.Clone(all)
	for i := from; i < to; i++ {
		all[i] = s.spare(all[i])
	}
	return all
}

// sparing returns a copy of the operations in which each of all[from:], except the operation last,
// only perhaps happened.
func (s search) sparing(all []recording, from int, last recording) []recording {
	all = slices.Clone(all)
	for i := from; i < len(all); i++ {
		if all[i].place != last.place {
			all[i] = s.spare(all[i])
		}
	}
	return all
}

// spare turns an operation that happened into one that perhaps happened.
func (s search) spare(op recording) recording {
	if op.perhaps {
		return op
	}
	op.perhaps, op.reply = true, -1
	op.fence = 0
	return op.asModelled(s.spec)
}
