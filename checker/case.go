package checker

import (
	"cmp"
	"slices"
	"sync"

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
