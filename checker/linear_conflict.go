package checker

import (
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstorm/lockstorm/history"
)

// How a violation is told.
//
// Not by leaving operations out while it stays violated: two acquires of which a
// release between them was left out conflict as well, and say nothing of the
// history. Instead an operation that happened is made one that perhaps happened.
// That only ever allows more, so that what is still violated then did not need
// it. First the history is cut after the reply with which it is first violated;
// operations that are open there perhaps happened. Then from the first operation
// on, one after the other perhaps happened if that leaves it violated. What cannot
// be spared is the conflict. Where anybody may release, that is often every acquire
// and release there was: then those are told that conflict if only owners release.

// clash is the operations that cannot all have happened.
type clash struct {
	ops     []recording // in order of invocation
	last    recording   // of them, whose reply it took
	first   []any       // what the lock may be before them; nil: as it is made
	minimal bool        // false: the time was over before
	strict  bool        // only if none but its owner may release
}

// conflict finds one in operations that are not linearizable.
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
	// Of the last it is known.
	n := sort.Search(len(replied)-1, func(i int) bool { return s.violated(s.until(all, replied[i].reply)) })
	c := s.smallest(s.until(all, replied[n].reply), replied[n])
	if s.rules.stricter != nil && (!c.minimal || len(c.ops) > mostWords) {
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

// window returns the fewest last operations that are violated whatever the lock was
// before, and what it may have been; nil if there are none. Few are tried first:
// the more there are, the more it may have been.
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

// since drops what had happened before the operation at i was invoked. What was
// open then perhaps happens yet.
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

// ownersAndDepth are those who have operations, and one more than there are releases.
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

// violated counts what cannot be decided any more as not violated: it is not
// spared then.
func (s search) violated(all []recording) bool { return s.decide(all) == porcupine.Illegal }

// until is the history up to the entry that stands at last.
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

// spared makes the operations from..to ones that perhaps happened.
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

const (
	// mostSilent bounds how many releases that freed nothing are told beside a conflict.
	mostSilent = 4
)

// finding tells of the conflict. Releases of those concerned that failed, or of
// which nobody knows, belong to it: a reader asks for them.
func (c clash) finding(f *caseFile, r *rules, model, lock string) Finding {
	last := c.last.pair
	told := Finding{
		Cause: Unclassified, Lock: lock, Clients: []int{last.Invoke.Client}, From: last.Invoke.Time, To: last.Complete.Time,
	}
	var concerned []Operation
	for _, op := range c.ops {
		told.Ops = append(told.Ops, op.pair.Invoke.Index, op.pair.Complete.Index)
		concerned = append(concerned, operated(op.pair))
		if client := op.pair.Invoke.Client; !slices.Contains(told.Clients, client) {
			told.Clients = append(told.Clients, client)
		}
	}
	for _, p := range c.silent(f, r) {
		told.Ops = append(told.Ops, p.Invoke.Index)
		if p.Complete != nil {
			told.Ops = append(told.Ops, p.Complete.Index)
		}
		concerned = append(concerned, operated(p))
	}
	told.Ops = indices(told.Ops...)
	told.Account = Account{Fact: Fact{What: c.how(), Clients: told.Clients, At: told.To, Model: model}, Operations: concerned}
	return told
}

// how says what the operations that are listed show.
func (c clash) how() What {
	switch {
	case !c.minimal:
		return NoOrderFound
	case c.strict:
		return NoOwnersOrder
	}
	return NoOrder
}

// silent finds the releases, between the conflict's acquires and its end, that
// failed or whose outcome is unknown: of an acquire's owner until it acquired
// again.
func (c clash) silent(f *caseFile, r *rules) []*history.Pair {
	pairs, err := f.pairs()
	if err != nil || !c.minimal {
		return nil
	}
	var found []*history.Pair
	again := map[*history.Pair]bool{} // acquires whose owner has acquired again
	for i := range pairs.all {
		p := &pairs.all[i]
		at := pairs.place(p.Invoke.Index)
		if at > c.last.reply || len(found) == mostSilent {
			break
		}
		for _, op := range c.ops {
			concerned := !op.release && !again[op.pair] && at > op.call && p.Invoke.Process != history.Nemesis &&
				p.Invoke.Lock == op.pair.Invoke.Lock && (r.anyone && !c.strict || p.Invoke.Client == op.owner)
			switch {
			case !concerned:
			case p.Invoke.F == history.FAcquire && p.Done() == history.OK:
				again[op.pair] = true
			case p.Invoke.F == history.FRelease && p.Done() != history.OK && !slices.Contains(found, p):
				found = append(found, p)
			}
		}
	}
	return found
}
