package facts

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Reading holds the facts in a trial's evidence. Callers must not change it.
type Reading struct {
	Pairs   []history.Pair
	pairing history.Pairing
	// Holds are those of checker.Holds and, beside them, the empty ones: those that a release ended in the instant
	// in which they began. In the simulation work may take no time.
	Holds []checker.Hold
	// Keyspace is the analysis of the keys. Events and Spans are derived from it: Events in order of
	// time, Spans by node, key and time.
	Keyspace *keyspace.Keys
	Events   []Event
	Spans    []Span
	// LockKeys are the keys of the lock that the finding is about.
	LockKeys []keyspace.NodeKey
	Windows  []Window
}

// Read reads the evidence of a trial for a finding about the lock. If the history is
// impossible (see history.Pairs), the Reading has no pairs, no holds and no windows.
func Read(e history.Evidence, lock string) Reading {
	r := Reading{Keyspace: keyspace.Read(e)}
	r.pairing, _ = history.Paired(e.Ops)
	r.Pairs = r.pairing.All
	if n := len(e.Ops); n > 0 {
		r.Windows = windows(r.Pairs, e.Ops[n-1].Time)
	}
	if holds, err := checker.Holds(e); err == nil {
		r.Holds = withEmpty(holds, r.Pairs)
	}
	r.Events, r.Spans = keyLife(e, r.Pairs, r.Keyspace)
	r.LockKeys = keysOf(lock, e, r.Spans, r.Events)
	return r
}

// withEmpty adds, for each granted acquire that is part of no hold and that its client released in the same instant,
// the empty hold that it was.
func withEmpty(holds []checker.Hold, pairs []history.Pair) []checker.Hold {
	part := map[int]bool{} // of a hold: the index of an acquire's ok
	for _, h := range holds {
		part[h.Acquire] = true
		for _, i := range h.Nested {
			part[i] = true
		}
	}
	for i, p := range pairs {
		in, ok := p.Invoke, p.Complete
		if in.F != history.FAcquire || p.Done() != history.OK || part[ok.Index] {
			continue
		}
		end := slices.IndexFunc(pairs[i+1:], func(r history.Pair) bool {
			return r.Invoke.F == history.FRelease && r.Invoke.Client == in.Client && r.Invoke.Lock == in.Lock && r.Invoke.Time == ok.Time
		})
		if end >= 0 {
			holds = append(holds, checker.Hold{
				Lock: in.Lock, Mode: in.Mode, Client: in.Client, From: ok.Time, To: ok.Time, ToWhy: account.ByRelease,
				Acquire: ok.Index, End: pairs[i+1+end].Invoke.Index,
			})
		}
	}
	slices.SortStableFunc(holds, func(a, b checker.Hold) int { return cmp.Compare(a.From, b.From) })
	return holds
}

// Pair returns the operation to which the entry with the index belongs; false if there is none.
func (r Reading) Pair(index int) (history.Pair, bool) {
	if p := r.pairing.Find(index); p != nil {
		return *p, true
	}
	return history.Pair{}, false
}

// Counts reports whether the key is a counter of fencing tokens.
func (r Reading) Counts(k keyspace.NodeKey) bool {
	return slices.ContainsFunc(r.Events, func(x Event) bool { return x.Counter && x.NodeKey == k })
}

// keysOf returns the keys that operations on the lock changed. If they changed none, it returns
// all keys that carried a client's grant.
func keysOf(lock string, e history.Evidence, spans []Span, events []Event) []keyspace.NodeKey {
	lockOf := map[int]string{}
	for _, op := range e.Ops {
		lockOf[op.Index] = op.Lock
	}
	mine, all := map[keyspace.NodeKey]bool{}, map[keyspace.NodeKey]bool{}
	for _, s := range spans {
		all[s.NodeKey] = true
	}
	for _, x := range events {
		c, ok := CommandAt(e.Commands, x.Command)
		if ok && c.Op >= 0 && lockOf[c.Op] == lock {
			mine[x.NodeKey] = true
		}
	}
	if len(mine) == 0 {
		mine = all
	}
	return slices.SortedFunc(maps.Keys(mine), func(a, b keyspace.NodeKey) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Key, b.Key))
	})
}
