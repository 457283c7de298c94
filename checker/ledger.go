package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// ledger holds the history, indexed for use together with the replay.
type ledger struct {
	history.Evidence
	pairing pairing
	crashes map[int]time.Duration
	hung    map[int]time.Duration // since when a client hangs in its work, by client
	clocks  map[int]clock
	holds   []Hold          // in order of From
	latest  []time.Duration // by place in holds: the greatest To so far
	holdOf  map[int]int     // place in holds, by the index of an acquire's ok
	spells  map[errand][]spell
	windows []history.Pair // all operations of the nemesis
	end     time.Duration  // the last time that was recorded
	broke   bool           // the code under test ended the trial
}

// errand is one client's business with one lock.
type errand struct {
	client int
	lock   string
}

// spell is a stretch of a trial.
type spell struct{ from, to time.Duration }

// newLedger returns an error if the history is impossible.
func newLedger(f *caseFile) (*ledger, error) {
	holds, err := f.holds()
	if err != nil {
		return nil, err
	}
	pairs, err := f.pairs()
	if err != nil {
		return nil, err
	}
	e := f.Evidence
	l := &ledger{
		Evidence: e, holds: holds, clocks: clocksOf(e.Ops), pairing: pairs,
		crashes: map[int]time.Duration{}, hung: map[int]time.Duration{},
		holdOf: map[int]int{}, spells: map[errand][]spell{},
	}
	for _, op := range e.Ops {
		l.end = max(l.end, op.Time)
		if _, again := l.crashes[op.Client]; op.F == history.FCrash && op.Process == history.Nemesis && !again {
			l.crashes[op.Client] = op.Time
		}
		if _, again := l.hung[op.Client]; op.F == history.FHung && op.Process == history.Nemesis && !again {
			l.hung[op.Client] = op.Time
		}
	}
	for _, c := range e.Commands {
		l.end = max(l.end, keyspace.Clip(c.Sent), keyspace.Clip(c.Arrived), keyspace.Clip(c.Served), keyspace.Clip(c.Replied))
	}
	last := time.Duration(0)
	for i, h := range holds {
		last = max(last, h.To)
		l.latest = append(l.latest, last)
		for _, ok := range append([]int{h.Acquire}, h.Again...) {
			if _, known := l.holdOf[ok]; !known { // keep the first: extensions began the later ones
				l.holdOf[ok] = i
			}
		}
	}
	for _, p := range pairs.all {
		if p.Invoke.Process == history.Nemesis {
			l.windows = append(l.windows, p)
		}
	}
	l.attend(pairs.all)
	_, l.broke = brokeDown(e.Ops)
	return l, nil
}

// noOperation stands for the missing operation of entries and commands that belong to
// none.
var noOperation = history.Pair{Invoke: &history.Op{}}

// operation returns the client's operation of that invocation, or &noOperation. The caller
// must not change it.
func (l *ledger) operation(op int) *history.Pair {
	if p := l.pairing.find(op); p != nil && p.Invoke.Index == op && p.Invoke.Process != history.Nemesis {
		return p
	}
	return &noOperation
}

func (l *ledger) has(op int) bool { return l.operation(op) != &noOperation }

// invocation returns the index of the invocation of the client's operation to which the
// entry of that index belongs.
func (l *ledger) invocation(index int) (op int, ok bool) {
	if p := l.pairing.find(index); p != nil && p.Invoke.Process != history.Nemesis {
		return p.Invoke.Index, true
	}
	return 0, false
}

// attend computes when each client attended to each lock: from a grant until the reply to
// the release, whatever the client believed meanwhile.
func (l *ledger) attend(pairs []history.Pair) {
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis || p.Invoke.F == history.FAcquire {
			continue
		}
		at := errand{p.Invoke.Client, p.Invoke.Lock}
		l.spells[at] = append(l.spells[at], spell{p.Invoke.Time, l.doneAt(&p)})
	}
	for _, h := range l.holds {
		at := errand{h.Client, h.Lock}
		until := h.To
		if h.ToWhy == ByDeadline || h.ToWhy == ByLost {
			until = l.leaving(pairs, at, h.Acquire, h.To)
		}
		if h.ToWhy == ByLost && until == Never && l.hangs(h.Client) {
			until = h.To // it was told, and never comes to its release
		}
		l.spells[at] = append(l.spells[at], spell{h.From, until})
	}
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire || p.Done() != history.OK {
			continue
		}
		if _, held := l.holdOf[p.Complete.Index]; !held { // the client never believed in this grant
			at := errand{p.Invoke.Client, p.Invoke.Lock}
			l.spells[at] = append(l.spells[at], spell{p.Complete.Time, l.leaving(pairs, at, p.Complete.Index, p.Complete.Time)})
		}
	}
	for at, spells := range l.spells {
		slices.SortFunc(spells, func(a, b spell) int { return cmp.Compare(a.from, b.from) })
		merged := spells[:0]
		for _, s := range spells {
			if last := len(merged) - 1; last >= 0 && s.from <= merged[last].to {
				merged[last].to = max(merged[last].to, s.to)
			} else {
				merged = append(merged, s)
			}
		}
		l.spells[at] = merged
	}
}

// doneAt returns the time at which an operation ended: its completion, or the client's
// crash; Never if neither came.
func (l *ledger) doneAt(p *history.Pair) time.Duration {
	if p.Complete != nil {
		return p.Complete.Time
	}
	return l.crashOf(p.Invoke.Client)
}

// leaving returns the time at which the client first released the lock at or after from,
// or else the time of its crash. granted is the index of the ok of a grant in which the
// client no longer believed.
func (l *ledger) leaving(pairs []history.Pair, at errand, granted int, from time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(pairs, granted, func(p history.Pair, ok int) int {
		return cmp.Compare(p.Invoke.Index, ok)
	})
	for _, p := range pairs[i:] {
		if p.Invoke.F == history.FRelease && p.Invoke.Client == at.client && p.Invoke.Lock == at.lock && p.Invoke.Time >= from {
			return p.Invoke.Time
		}
	}
	return l.crashOf(at.client)
}

// crashOf returns the time of the client's crash; Never if it did not crash.
func (l *ledger) crashOf(client int) time.Duration {
	if at, crashed := l.crashes[client]; crashed {
		return at
	}
	return Never
}

// hangs reports whether the client hangs in its work for ever.
func (l *ledger) hangs(client int) bool {
	_, hangs := l.hung[client]
	return hangs
}

// hungUnder returns since when the grant's owner hangs in its work under the hold of this
// grant; ok is false if it does not.
func (l *ledger) hungUnder(g *keyspace.Grant) (since time.Duration, ok bool) {
	since, hangs := l.hung[g.Client]
	p, isAcquire := l.acquired(g.Op)
	if !hangs || !isAcquire || p.Done() != history.OK {
		return 0, false
	}
	i, held := l.holdOf[p.Complete.Index]
	return since, held && l.holds[i].From <= since && since < l.holds[i].To
}

// attends reports whether, at t, the client was alive and held the lock or was giving it
// back.
func (l *ledger) attends(client int, lock string, t time.Duration) bool {
	if t >= l.crashOf(client) {
		return false
	}
	spells := l.spells[errand{client, lock}]
	i, _ := slices.BinarySearchFunc(spells, t, func(s spell, t time.Duration) int {
		return cmp.Compare(s.to, t)
	})
	return i < len(spells) && spells[i].from <= t
}

// believes reports whether another client than except believed, at t, that it held the
// lock in a mode that excludes mode.
func (l *ledger) believes(lock string, mode history.Mode, t time.Duration, except int) bool {
	after, _ := slices.BinarySearchFunc(l.holds, t, func(h Hold, t time.Duration) int {
		if h.From <= t {
			return -1
		}
		return 1
	})
	for i := after - 1; i >= 0 && t < l.latest[i]; i-- {
		h := &l.holds[i]
		if h.Lock == lock && h.Client != except && t < h.To && !compatible(h.Mode, mode) {
			return true
		}
	}
	return false
}

// compatible reports whether two owners may hold these modes together: only if both read.
func compatible(a, b history.Mode) bool { return a == history.Read && b == history.Read }

// aheadAt returns how far the client's wall clock was ahead at t.
func (l *ledger) aheadAt(client int, t time.Duration) time.Duration {
	ahead := time.Duration(0)
	for _, o := range l.clocks[client] {
		if o.since <= t {
			ahead = o.ahead
		}
	}
	return ahead
}

// steppedIn reports whether the client's wall clock was set after from and no later than
// to.
func (l *ledger) steppedIn(client int, from, to time.Duration) bool {
	return slices.ContainsFunc(l.clocks[client], func(o offset) bool { return from < o.since && o.since <= to })
}

// acquired returns the operation of that invocation, and whether it is an acquire.
func (l *ledger) acquired(op int) (p *history.Pair, isAcquire bool) {
	p = l.operation(op)
	return p, p != &noOperation && p.Invoke.F == history.FAcquire
}

// openAt reports whether the operation of that invocation was under way at t; false if
// there is no such operation.
func (l *ledger) openAt(op int, t time.Duration) bool {
	p := l.operation(op)
	return p != &noOperation && p.Invoke.Time <= t && t <= l.doneAt(p)
}
