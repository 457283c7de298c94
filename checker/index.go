package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// historyIndex is a history with the answers to common questions about it: which operation an
// entry belongs to, who believed what when, who had crashed by then.
type historyIndex struct {
	history.Evidence
	pairing  pairing
	crashes  map[int]time.Duration
	hung     map[int]time.Duration // since when a client hangs in its work, by client
	clocks   map[int]clock
	holds    []Hold          // in order of From
	latest   []time.Duration // by place in holds: the greatest To so far
	holdOf   map[int]int     // place in holds, by the index of an acquire's ok
	attended map[clientLock][]interval
	windows  []history.Pair // all operations of the nemesis
	end      time.Duration  // the last time that was recorded
	broke    bool           // the code under test ended the trial
}

// clientLock names one client and one lock that it deals with.
type clientLock struct {
	client int
	lock   string
}

// interval is a part of a trial.
type interval struct{ from, to time.Duration }

// newHistoryIndex returns an error if the history is impossible.
func newHistoryIndex(f *caseFile) (*historyIndex, error) {
	holds, err := f.holds()
	if err != nil {
		return nil, err
	}
	pairs, err := f.pairs()
	if err != nil {
		return nil, err
	}
	e := f.Evidence
	ix := &historyIndex{
		Evidence: e, holds: holds, clocks: clocksOf(e.Ops), pairing: pairs,
		crashes: map[int]time.Duration{}, hung: map[int]time.Duration{},
		latest: make([]time.Duration, 0, len(holds)), holdOf: make(map[int]int, len(holds)), attended: map[clientLock][]interval{},
	}
	for _, op := range e.Ops {
		ix.end = max(ix.end, op.Time)
		if _, again := ix.crashes[op.Client]; op.Event(history.FCrash) && !again {
			ix.crashes[op.Client] = op.Time
		}
		if _, again := ix.hung[op.Client]; op.Event(history.FHung) && !again {
			ix.hung[op.Client] = op.Time
		}
	}
	for _, c := range e.Commands {
		ix.end = max(ix.end, keyspace.Clip(c.Sent), keyspace.Clip(c.Arrived), keyspace.Clip(c.Served), keyspace.Clip(c.Replied))
	}
	last := time.Duration(0)
	for i, h := range holds {
		last = max(last, h.To)
		ix.latest = append(ix.latest, last)
		for _, ok := range append([]int{h.Acquire}, h.Nested...) {
			if _, known := ix.holdOf[ok]; !known { // keep the first: extensions began the later ones
				ix.holdOf[ok] = i
			}
		}
	}
	for _, p := range pairs.all {
		if p.Invoke.Process == history.Nemesis {
			ix.windows = append(ix.windows, p)
		}
	}
	ix.attend(pairs.all)
	_, ix.broke = brokeDown(e.Ops)
	return ix, nil
}

// noOperation stands for the missing operation of entries and commands that belong to
// none.
var noOperation = history.Pair{Invoke: &history.Op{}}

// operation returns the client's operation of that invocation, or &noOperation. The caller
// must not change it.
func (ix *historyIndex) operation(op int) *history.Pair {
	if p := ix.pairing.find(op); p != nil && p.Invoke.Index == op && p.Invoke.Process != history.Nemesis {
		return p
	}
	return &noOperation
}

func (ix *historyIndex) has(op int) bool { return ix.operation(op) != &noOperation }

// invocation returns the index of the invocation of the client's operation to which the
// entry of that index belongs.
func (ix *historyIndex) invocation(index int) (op int, ok bool) {
	if p := ix.pairing.find(index); p != nil && p.Invoke.Process != history.Nemesis {
		return p.Invoke.Index, true
	}
	return 0, false
}

// attend computes when each client attended to each lock: from a grant until the reply to
// the release, whatever the client believed meanwhile.
func (ix *historyIndex) attend(pairs []history.Pair) {
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis || p.Invoke.F == history.FAcquire {
			continue
		}
		at := clientLock{p.Invoke.Client, p.Invoke.Lock}
		ix.attended[at] = append(ix.attended[at], interval{p.Invoke.Time, ix.doneAt(&p)})
	}
	for _, h := range ix.holds {
		at := clientLock{h.Client, h.Lock}
		until := h.To
		if h.ToWhy == account.ByDeadline || h.ToWhy == account.ByLost {
			until = ix.leaving(pairs, at, h.Acquire, h.To)
		}
		if h.ToWhy == account.ByLost && until == Never && ix.hangs(h.Client) {
			until = h.To // it was told, and never comes to its release
		}
		ix.attended[at] = append(ix.attended[at], interval{h.From, until})
	}
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire || p.Done() != history.OK {
			continue
		}
		if _, held := ix.holdOf[p.Complete.Index]; !held { // the client never believed in this grant
			at := clientLock{p.Invoke.Client, p.Invoke.Lock}
			ix.attended[at] = append(ix.attended[at], interval{p.Complete.Time, ix.leaving(pairs, at, p.Complete.Index, p.Complete.Time)})
		}
	}
	for at, intervals := range ix.attended {
		slices.SortFunc(intervals, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
		merged := intervals[:0]
		for _, s := range intervals {
			if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
				merged[last].to = max(merged[last].to, s.to)
			} else {
				merged = append(merged, s)
			}
		}
		ix.attended[at] = merged
	}
}

// doneAt returns the time at which an operation ended: its completion, or the client's
// crash; Never if neither came.
func (ix *historyIndex) doneAt(p *history.Pair) time.Duration {
	if p.Complete != nil {
		return p.Complete.Time
	}
	return ix.crashOf(p.Invoke.Client)
}

// leaving returns the time at which the client first released the lock at or after from,
// or else the time of its crash. granted is the index of the ok of a grant in which the
// client no longer believed.
func (ix *historyIndex) leaving(pairs []history.Pair, at clientLock, granted int, from time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(pairs, granted, func(p history.Pair, ok int) int {
		return cmp.Compare(p.Invoke.Index, ok)
	})
	for _, p := range pairs[i:] {
		if p.Invoke.F == history.FRelease && p.Invoke.Client == at.client && p.Invoke.Lock == at.lock && p.Invoke.Time >= from {
			return p.Invoke.Time
		}
	}
	return ix.crashOf(at.client)
}

// crashOf returns the time of the client's crash; Never if it did not crash.
func (ix *historyIndex) crashOf(client int) time.Duration {
	if at, crashed := ix.crashes[client]; crashed {
		return at
	}
	return Never
}

// hangs reports whether the client hangs in its work for ever.
func (ix *historyIndex) hangs(client int) bool {
	_, hangs := ix.hung[client]
	return hangs
}

// hungUnder returns since when the grant's owner hangs in its work under the hold of this
// grant; ok is false if it does not.
func (ix *historyIndex) hungUnder(g *keyspace.Grant) (since time.Duration, ok bool) {
	since, hangs := ix.hung[g.Client]
	p, isAcquire := ix.acquired(g.Op)
	if !hangs || !isAcquire || p.Done() != history.OK {
		return 0, false
	}
	i, held := ix.holdOf[p.Complete.Index]
	return since, held && ix.holds[i].From <= since && since < ix.holds[i].To
}

// attends reports whether, at t, the client was alive and held the lock or was giving it
// back.
func (ix *historyIndex) attends(client int, lock string, t time.Duration) bool {
	if t >= ix.crashOf(client) {
		return false
	}
	attended := ix.attended[clientLock{client, lock}]
	i, _ := slices.BinarySearchFunc(attended, t, func(s interval, t time.Duration) int {
		return cmp.Compare(s.to, t)
	})
	return i < len(attended) && attended[i].from <= t
}

// believes reports whether another client than except believed, at t, that it held the
// lock in a mode that excludes mode.
func (ix *historyIndex) believes(lock string, mode history.Mode, t time.Duration, except int) bool {
	after, _ := slices.BinarySearchFunc(ix.holds, t, func(h Hold, t time.Duration) int {
		if h.From <= t {
			return -1
		}
		return 1
	})
	for i := after - 1; i >= 0 && t < ix.latest[i]; i-- {
		h := &ix.holds[i]
		if h.Lock == lock && h.Client != except && t < h.To && !compatible(h.Mode, mode) {
			return true
		}
	}
	return false
}

// compatible reports whether two owners may hold these modes together: only if both read.
func compatible(a, b history.Mode) bool { return a == history.Read && b == history.Read }

// aheadAt returns how far the client's wall clock was ahead at t.
func (ix *historyIndex) aheadAt(client int, t time.Duration) time.Duration {
	ahead := time.Duration(0)
	for _, o := range ix.clocks[client] {
		if o.since <= t {
			ahead = o.ahead
		}
	}
	return ahead
}

// steppedIn reports whether the client's wall clock was set after from and no later than
// to.
func (ix *historyIndex) steppedIn(client int, from, to time.Duration) bool {
	return slices.ContainsFunc(ix.clocks[client], func(o offset) bool { return from < o.since && o.since <= to })
}

// acquired returns the operation of that invocation, and whether it is an acquire.
func (ix *historyIndex) acquired(op int) (p *history.Pair, isAcquire bool) {
	p = ix.operation(op)
	return p, p != &noOperation && p.Invoke.F == history.FAcquire
}

// openAt reports whether the operation of that invocation was under way at t; false if
// there is no such operation.
func (ix *historyIndex) openAt(op int, t time.Duration) bool {
	p := ix.operation(op)
	return p != &noOperation && p.Invoke.Time <= t && t <= ix.doneAt(p)
}

// merged sorts intervals and joins those that overlap or touch. It drops empty ones.
func merged(all []interval) []interval {
	all = slices.DeleteFunc(all, func(s interval) bool { return s.to <= s.from })
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.from, b.from) })
	var joined []interval
	for _, s := range all {
		if last := len(joined) - 1; last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// subtract returns the parts of a that lie outside of b. Both must be merged.
func subtract(a, b []interval) []interval {
	var rest []interval
	next := 0
	for _, s := range a {
		for next < len(b) && b[next].to <= s.from {
			next++
		}
		for i := next; i < len(b) && b[i].from < s.to; i++ {
			if b[i].from > s.from {
				rest = append(rest, interval{s.from, b[i].from})
			}
			s.from = max(s.from, b[i].to)
		}
		if s.from < s.to {
			rest = append(rest, s)
		}
	}
	return rest
}

// intervalAt reports whether t lies in one of the intervals, which must be merged, and returns
// the place of that interval.
func intervalAt(all []interval, t time.Duration) (within bool, at int) {
	at, _ = slices.BinarySearchFunc(all, t, func(s interval, t time.Duration) int {
		if s.to <= t {
			return -1
		}
		return 1
	})
	return at < len(all) && all[at].from <= t, at
}
