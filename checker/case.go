package checker

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Case is the evidence of one trial, prepared once for all questions. It is not for
// concurrent use.
type Case struct{ file *caseFile }

// NewCase returns the case of this evidence. The caller must not change the evidence while
// the case is in use.
func NewCase(e history.Evidence) *Case { return &Case{newCaseFile(e)} }

// caseFile is the evidence of one trial with the analyses that several oracles share. Each
// analysis is computed at its first use. Oracles change none of them, so that the order of
// oracles does not matter. A caseFile is not for concurrent use.
type caseFile struct {
	history.Evidence
	sound  func() error
	pairs  func() (pairing, error)
	holds  func() ([]Hold, error)
	index  func() (*historyIndex, error)
	replay func() (*replay, error)
}

func newCaseFile(e history.Evidence) *caseFile {
	e.Ops = moded(e)
	e = keyspace.Attribute(e)
	f := &caseFile{Evidence: e}
	f.sound = sync.OnceValue(func() error { return sound(e.Ops) })
	f.pairs = sync.OnceValues(func() (pairing, error) { return pair(e.Ops) })
	f.holds = sync.OnceValues(func() ([]Hold, error) { return readHolds(f) })
	f.index = sync.OnceValues(func() (*historyIndex, error) { return newHistoryIndex(f) })
	f.replay = sync.OnceValues(func() (*replay, error) {
		ix, err := f.index()
		if err != nil {
			return nil, err
		}
		return replayOf(ix), nil
	})
	return f
}

// pairing holds the operations of a history and the operation that each entry belongs to.
type pairing struct {
	ops []history.Op
	all []history.Pair // in order of invocation
	of  []int          // index in all, by index in ops; -1 for an event
}

func pair(ops []history.Op) (pairing, error) {
	all, err := history.Pairs(ops)
	if err != nil {
		return pairing{}, err
	}
	p := pairing{ops: ops, all: all, of: make([]int, len(ops))}
	for i := range p.of {
		p.of[i] = -1
	}
	for i := range all {
		if at := p.place(all[i].Invoke.Index); at >= 0 {
			p.of[at] = i
		}
		if all[i].Complete == nil {
			continue
		}
		if at := p.place(all[i].Complete.Index); at >= 0 {
			p.of[at] = i
		}
	}
	return p, nil
}

// place returns the place of the entry of that index; -1 if there is none. Indices ascend,
// and in our own histories they have no gaps.
func (p *pairing) place(index int) int {
	switch {
	case index < 0: // the index of a command without an operation
		return -1
	case index < len(p.ops) && p.ops[index].Index == index:
		return index
	}
	i, found := slices.BinarySearchFunc(p.ops, index, func(op history.Op, index int) int { return cmp.Compare(op.Index, index) })
	if !found {
		return -1
	}
	return i
}

// find returns the operation to which the entry of that index belongs; nil if there is
// none.
func (p *pairing) find(index int) *history.Pair {
	if at := p.place(index); at >= 0 && p.of[at] >= 0 {
		return &p.all[p.of[at]]
	}
	return nil
}

// moded returns the entries of a read-write lock with their modes filled in, since a
// release need not name the mode. An operation under an acquire gets the mode of that
// acquire. If there are several acquires, it is the one with the same token, else the
// latest that is still believed in, else the latest.
func moded(e history.Evidence) []history.Op {
	if !e.Claims.ReadWrite || !slices.ContainsFunc(e.Ops, modeless) {
		return e.Ops
	}
	m := moder{clocks: clocksOf(e.Ops), taken: map[clientLock][]taken{}, open: map[history.Process]history.Op{}}
	ops := slices.Clone(e.Ops)
	for i := range ops {
		if ops[i].Process != history.Nemesis {
			m.entry(&ops[i])
		}
	}
	return ops
}

func modeless(op history.Op) bool { return op.Process != history.Nemesis && op.Mode == "" }

// taken is an acquire that was not released yet.
type taken struct {
	mode  history.Mode
	token string
	sure  bool          // the acquire ended with ok
	until time.Duration // see stake.until
}

type moder struct {
	clocks map[int]clock
	taken  map[clientLock][]taken
	open   map[history.Process]history.Op
}

func (m *moder) entry(op *history.Op) {
	at := clientLock{client: op.Client, lock: op.Lock}
	switch {
	case op.F == history.FLost:
		for who, all := range m.taken {
			for i := range all {
				if who.client == op.Client && (op.Lock == "" || op.Lock == who.lock) && (op.Mode == "" || op.Mode == all[i].mode) {
					all[i].until = min(all[i].until, op.Time)
				}
			}
		}
	case op.Type != history.Invoke:
		in := m.open[op.Process]
		op.Mode = in.Mode
		if op.Type == history.Fail {
			return
		}
		lease := history.Pair{Invoke: &in, Complete: op}.Lease()
		until := Never
		if lease.Deadline != 0 {
			until = m.clocks[op.Client].shows(lease.Deadline, in.Time)
		}
		switch op.F {
		case history.FAcquire:
			m.taken[at] = append(m.taken[at], taken{op.Mode, lease.Token, op.Type == history.OK, until})
		case history.FExtend:
			for i := range m.taken[at] {
				if x := &m.taken[at][i]; lease.Deadline != 0 && x.until > op.Time {
					x.until = max(x.until, until)
				}
			}
		}
	default:
		if op.F != history.FAcquire {
			m.under(op, at)
		}
		m.open[op.Process] = *op
	}
}

// under sets the mode of an invocation to that of the acquire that it belongs to.
func (m *moder) under(op *history.Op, at clientLock) {
	best, rank := -1, 0
	for i, x := range m.taken[at] {
		r := 1
		switch {
		case op.Mode != "" && x.mode != op.Mode && (x.mode != "" || op.Mode != history.Write):
			continue // an acquire without a mode is for writing
		case op.Lease != nil && op.Lease.Token != "" && op.Lease.Token == x.token:
			r = 4
		case x.sure && x.until > op.Time:
			r = 3
		case x.sure:
			r = 2
		}
		if r >= rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return
	}
	op.Mode = m.taken[at][best].mode
	if op.F == history.FRelease {
		m.taken[at] = slices.Delete(m.taken[at], best, best+1)
	}
}
