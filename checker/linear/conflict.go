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

// conflict finds a conflict in operations that are not linearizable.
func (s search) conflict(all []recording) *Conflict {
	last := s.firstIllegal(all)
	if !s.spec.anyone {
		return s.smallest(all, last)
	}
	half, long := s, len(all) > mostCertain
	half.end = time.Now().Add(time.Until(s.end) / 2)
	c, strict := &Conflict{}, s.strict(s.end)
	if long {
		strict.end = half.end
	} else if c = half.smallest(all, last); c.Minimal && len(c.Operations) <= mostTold {
		c.Anyone = true
		return c
	}
	if own := strict.smallest(owning(all), last); own.Minimal {
		own.OwnersOnly = true
		return own
	}
	if long {
		c = s.smallest(all, last)
	}
	c.Anyone = true
	return c
}

// firstIllegal returns the operation whose reply made the history illegal.
func (s search) firstIllegal(all []recording) recording {
	from := -1
	if answer, failed := s.askFrontier(all); answer == Illegal {
		if from = failed.due; s.violated(s.until(all, from)) {
			return failed
		}
		// The history up to this reply is legal after all, so that a later reply made it illegal.
		// The frontier found it illegal only because it already knew fences of later replies.
	}
	var replied []recording
	for _, op := range all {
		if op.due != never && op.due > from {
			replied = append(replied, op)
		}
	}
	slices.SortFunc(replied, func(a, b recording) int { return a.due - b.due })
	// The history up to the last reply is known to be illegal, so that the search need not check it.
	n := sort.Search(len(replied)-1, func(i int) bool { return s.violated(s.until(all, replied[i].due)) })
	return replied[n]
}

// smallest reduces the operations up to the reply of last, which shows that they are illegal, to a minimal
// conflict.
func (s search) smallest(all []recording, last recording) *Conflict {
	c := &Conflict{Last: last.place}
	ops := s.until(all, last.due)
	if w, from := s.window(ops); w != nil {
		ops, s.first = w, from
	}
	for from := 0; from < len(ops) && s.inTime(); from++ {
		if s.violated(s.spared(ops, func(i int) bool { return i >= from && ops[i].place != last.place })) {
			// The operations in c and the last operation suffice for a conflict.
			if !slices.Contains(c.Operations, last.place) {
				c.Operations = append(c.Operations, last.place)
			}
			break
		}
		to := from + sort.Search(len(ops)-from, func(n int) bool {
			return !s.violated(s.spared(ops, func(i int) bool { return i >= from && i <= from+n }))
		})
		ops = s.spared(ops, func(i int) bool { return i >= from && i < to })
		if from = to; from < len(ops) && ops[from].due != never {
			c.Operations = append(c.Operations, ops[from].place)
		}
	}
	if c.Minimal = s.inTime(); !c.Minimal {
		c.Operations = []int{last.place}
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
		case at < i && op.due < all[i].call:
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
		if op.due > last {
			op = s.spare(op)
		}
		kept = append(kept, op)
	}
	return kept
}

// spared returns a copy of the operations in which those at the given places only perhaps happened.
func (s search) spared(all []recording, at func(i int) bool) []recording {
	all = slices.Clone(all)
	for i := range all {
		if at(i) {
			all[i] = s.spare(all[i])
		}
	}
	return all
}

// spare turns an operation that happened into one that perhaps happened.
func (s search) spare(op recording) recording {
	if op.due == never {
		return op
	}
	op.fence = 0
	return op.perhaps(s.spec)
}
