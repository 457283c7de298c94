package linear

import (
	"slices"
	"sort"
	"time"
)

// How a minimal conflict is found.
//
// Operations cannot just be left out one by one while the history stays illegal: two
// acquires conflict as soon as the release between them is left out, and that says
// nothing of the history. Instead an operation that happened becomes one that perhaps
// happened. This only ever allows more. A history that is still illegal then did not
// need the operation.
//
// First the history is cut after the first reply with which it is illegal. Operations
// that are open at the cut perhaps happened. Then each operation in turn, from the first
// on, becomes one that perhaps happened, if the history stays illegal. The operations
// that cannot be spared are the conflict. Where anybody may release, these are often all
// acquires and releases there were: then the conflict for owners alone is told.

// mostTold is how many operations a conflict may have before one of owners alone is
// looked for: no sentence lists more.
const mostTold = 8

// clash is a set of operations that cannot all have happened.
type clash struct {
	ops     []recording // in order of invocation
	last    recording   // the one of them whose reply made them conflict
	first   []any       // what the lock may be before them; nil: as it is made
	minimal bool        // false: the time was over before
	strict  bool        // only if none but its owner may release
}

// told returns the clash as Check's callers take it.
func (c clash) told(r *rules) *Conflict {
	told := &Conflict{Last: c.last.place, Minimal: c.minimal, OwnersOnly: c.strict, Anyone: r.anyone && !c.strict}
	for _, op := range c.ops {
		told.Operations = append(told.Operations, op.place)
	}
	return told
}

// conflict finds a clash in operations that are not linearizable.
func (s search) conflict(all []recording) clash {
	var replied []recording
	for _, op := range all {
		if !op.perhaps {
			replied = append(replied, op)
		}
	}
	slices.SortFunc(replied, func(a, b recording) int { return a.reply - b.reply })
	whole := s
	if s.rules.stricter != nil {
		s.end = time.Now().Add(time.Until(s.end) / 2)
	}
	// With the last reply the history is known to be illegal.
	n := sort.Search(len(replied)-1, func(i int) bool { return s.violated(s.until(all, replied[i].reply)) })
	c := s.smallest(s.until(all, replied[n].reply), replied[n])
	if s.rules.stricter != nil && (!c.minimal || len(c.ops) > mostTold) {
		strict := search{ctx: s.ctx, rules: s.rules.stricter, end: whole.end}
		if owners := strict.smallest(strict.until(owning(all), replied[n].reply), replied[n]); owners.minimal {
			owners.strict = true
			return owners
		}
	}
	return c
}

// smallest finds the conflict in operations whose last reply shows it.
func (s search) smallest(ops []recording, last recording) clash {
	c := clash{last: last}
	if w, from := s.window(ops); w != nil {
		ops, s.first, c.first = w, from, from
	}
	for from := 0; from < len(ops); from++ {
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

// window returns the fewest last operations that are illegal whatever the lock's state was
// before them, and the possible states before them; nil if there are no such operations.
// Small windows are tried first: a larger one has more possible states before it.
func (s search) window(all []recording) (ops []recording, first []any) {
	if s.rules.anywhere == nil {
		return nil, nil
	}
	try := func(n int) bool {
		w := search{ctx: s.ctx, rules: s.rules, end: s.end}
		some := since(all, len(all)-n, s)
		w.first = s.rules.anywhere(ownersAndDepth(some))
		if w.first == nil || !w.violated(some) {
			return false
		}
		ops, first = some, w.first
		return true
	}
	n := 1
	for n < len(all) && !try(n) {
		n *= 2
	}
	if ops != nil {
		low := n / 2 // not violated
		try(low + 1 + sort.Search(n-low-1, func(i int) bool { return try(low + 1 + i) }))
	}
	return ops, first
}

// since drops the operations that were over before the operation at i was invoked. Those
// that were open then perhaps happen yet.
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

// ownersAndDepth are the owners of these operations, and the number of releases plus one.
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

// violated is false if there is no time left to decide. Then no further operation is
// spared.
func (s search) violated(all []recording) bool { return s.decide(all) == Illegal }

// until is the history up to the entry at the place last.
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

// spared turns the operations from..to into ones that perhaps happened.
func (s search) spared(all []recording, from, to int) []recording {
	all = slices.Clone(all)
	for i := from; i < to; i++ {
		all[i] = s.spare(all[i])
	}
	return all
}

func (s search) spare(op recording) recording {
	if op.perhaps {
		return op
	}
	op.perhaps, op.reply = true, -1
	op.fence = 0
	return op.asModelled(s.rules)
}
