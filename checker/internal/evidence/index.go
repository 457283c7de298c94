package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Index is a history with the answers to common questions about it, such as which operation an
// entry belongs to, or when a client believed that it held a lock.
type Index struct {
	history.Evidence
	Pairing history.Pairing
	Crashes map[int]time.Duration // the time of a client's crash, by client
	Hung    map[int]time.Duration // the time since which a client hangs in its work, by client
	// Clocks are the clients' wall clocks, NodeClocks those of the nodes. What is not in the map has a right clock.
	Clocks     map[int]Clock
	NodeClocks map[string]Clock
	Holds      []Hold      // in order of From
	HoldOf     map[int]int // maps the index of an acquire's ok to the position of its hold in Holds
	// Attended has the times in which a client attended to a lock: from a grant until the reply to
	// its release, whatever the client believed meanwhile. Overlapping times are merged.
	Attended map[ClientLock][]Interval
	Windows  []history.Pair // the fault windows: all operations of the nemesis
	End      time.Duration  // the last time that was recorded
}

// ClientLock names one client and one lock that it deals with.
type ClientLock struct {
	Client int
	Lock   string
}

func newIndex(e history.Evidence, pairs history.Pairing, holds []Hold) *Index {
	ix := &Index{
		Evidence: e, Holds: holds, Pairing: pairs,
		Crashes: map[int]time.Duration{}, Hung: map[int]time.Duration{},
		HoldOf: make(map[int]int, len(holds)), Attended: map[ClientLock][]Interval{},
	}
	ix.Clocks, ix.NodeClocks = clocksOf(e.Ops)
	for _, op := range e.Ops {
		ix.End = max(ix.End, op.Time)
		if _, again := ix.Crashes[op.Client]; op.Event(history.FCrash) && !again {
			ix.Crashes[op.Client] = op.Time
		}
		if _, again := ix.Hung[op.Client]; op.Event(history.FHung) && !again {
			ix.Hung[op.Client] = op.Time
		}
	}
	for _, c := range e.Commands {
		ix.End = max(ix.End, keyspace.Clip(c.Sent), keyspace.Clip(c.Arrived), keyspace.Clip(c.Served), keyspace.Clip(c.Replied))
	}
	for i, h := range holds {
		for _, ok := range append([]int{h.Acquire}, h.Nested...) {
			// Of several holds of one acquire, keep the first: an extension began the later ones.
			if _, known := ix.HoldOf[ok]; !known {
				ix.HoldOf[ok] = i
			}
		}
	}
	for _, p := range pairs.All {
		if p.Invoke.Process == history.Nemesis {
			ix.Windows = append(ix.Windows, p)
		}
	}
	ix.attend(pairs.All)
	return ix
}

// noOperation stands for the missing operation of an entry or command that belongs to none.
var noOperation = history.Pair{Invoke: &history.Op{}}

// Operation returns the client's operation whose invocation has the index op. If there is none, it
// returns an empty operation: see Has. The caller must not change the operation.
func (ix *Index) Operation(op int) *history.Pair {
	return cmp.Or(ix.Pairing.Operation(op), &noOperation)
}

// Has reports whether the entry with the index op is a client's invocation.
func (ix *Index) Has(op int) bool { return ix.Operation(op) != &noOperation }

// Invocation returns the index of the invocation that began the operation of the entry at index; ok
// is false if that entry belongs to no client's operation.
func (ix *Index) Invocation(index int) (op int, ok bool) {
	if p := ix.Pairing.Find(index); p != nil && p.Invoke.Process != history.Nemesis {
		return p.Invoke.Index, true
	}
	return 0, false
}

// attend computes Attended.
func (ix *Index) attend(pairs []history.Pair) {
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis || p.Invoke.F == history.FAcquire {
			continue
		}
		at := ClientLock{p.Invoke.Client, p.Invoke.Lock}
		ix.Attended[at] = append(ix.Attended[at], Interval{p.Invoke.Time, ix.DoneAt(&p)})
	}
	for _, h := range ix.Holds {
		at := ClientLock{h.Client, h.Lock}
		until := h.To
		if h.ToWhy == account.ByDeadline || h.ToWhy == account.ByLost {
			until = ix.leaving(pairs, at, h.Acquire, h.To)
		}
		if h.ToWhy == account.ByLost && until == Never && ix.Hangs(h.Client) {
			until = h.To // the client was told of the loss, and never comes to its release
		}
		ix.Attended[at] = append(ix.Attended[at], Interval{h.From, until})
	}
	for _, p := range pairs {
		if p.Invoke.Process == history.Nemesis || p.Invoke.F != history.FAcquire || p.Done() != history.OK {
			continue
		}
		if _, held := ix.HoldOf[p.Complete.Index]; !held { // the client never believed in this grant
			at := ClientLock{p.Invoke.Client, p.Invoke.Lock}
			ix.Attended[at] = append(ix.Attended[at], Interval{p.Complete.Time, ix.leaving(pairs, at, p.Complete.Index, p.Complete.Time)})
		}
	}
	for at, intervals := range ix.Attended {
		slices.SortFunc(intervals, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
		merged := intervals[:0]
		for _, s := range intervals {
			if last := len(merged) - 1; last >= 0 && s.From <= merged[last].To {
				merged[last].To = max(merged[last].To, s.To)
			} else {
				merged = append(merged, s)
			}
		}
		ix.Attended[at] = merged
	}
}

// DoneAt returns the time at which an operation ended: its completion, or the client's
// crash; Never if neither came.
func (ix *Index) DoneAt(p *history.Pair) time.Duration {
	if p.Complete != nil {
		return p.Complete.Time
	}
	return ix.CrashOf(p.Invoke.Client)
}

// leaving returns the time at which a client left a lock that it no longer believed in: the
// invocation of the client's first release at or after the time from, else its crash; Never if
// neither came. granted is the index of the ok of the client's grant: releases before that entry do
// not count.
func (ix *Index) leaving(pairs []history.Pair, at ClientLock, granted int, from time.Duration) time.Duration {
	i, _ := slices.BinarySearchFunc(pairs, granted, func(p history.Pair, ok int) int {
		return cmp.Compare(p.Invoke.Index, ok)
	})
	for _, p := range pairs[i:] {
		if p.Invoke.F == history.FRelease && p.Invoke.Client == at.Client && p.Invoke.Lock == at.Lock && p.Invoke.Time >= from {
			return p.Invoke.Time
		}
	}
	return ix.CrashOf(at.Client)
}

// CrashOf returns the time of the client's crash; Never if it did not crash.
func (ix *Index) CrashOf(client int) time.Duration {
	if at, crashed := ix.Crashes[client]; crashed {
		return at
	}
	return Never
}

// Hangs reports whether the client hangs in its work for ever.
func (ix *Index) Hangs(client int) bool {
	_, hangs := ix.Hung[client]
	return hangs
}

// Attends reports whether, at t, the client was alive and attended to the lock: see Attended.
func (ix *Index) Attends(client int, lock string, t time.Duration) bool {
	if t >= ix.CrashOf(client) {
		return false
	}
	attended := ix.Attended[ClientLock{client, lock}]
	i, _ := slices.BinarySearchFunc(attended, t, func(s Interval, t time.Duration) int {
		return cmp.Compare(s.To, t)
	})
	return i < len(attended) && attended[i].From <= t
}

// Acquired returns the operation whose invocation has the index op, and whether it is an acquire.
func (ix *Index) Acquired(op int) (p *history.Pair, isAcquire bool) {
	p = ix.Operation(op)
	return p, p != &noOperation && p.Invoke.F == history.FAcquire
}
