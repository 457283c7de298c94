package checker

import (
	"cmp"
	"slices"
	"sync"

	"github.com/lockstorm/lockstorm/history"
)

// Case is the evidence of one trial, which is read once for all questions. It is not for
// concurrent use.
type Case struct{ file *caseFile }

// NewCase returns the case of this evidence, which nobody changes while it is used.
func NewCase(e history.Evidence) *Case { return &Case{newCaseFile(e)} }

// caseFile is the evidence of one trial with the readings that several oracles share.
// Each reading is worked out once, when it is first asked for. Oracles change none of
// them, so that the order of oracles does not matter. It is not for concurrent use.
type caseFile struct {
	history.Evidence
	sound  func() error
	pairs  func() (pairing, error)
	holds  func() ([]Hold, error)
	ledger func() (*ledger, error)
	wire   func() (*wire, error)
}

func newCaseFile(e history.Evidence) *caseFile {
	e.Ops = moded(e)
	f := &caseFile{Evidence: e}
	f.sound = sync.OnceValue(func() error { return sound(e.Ops) })
	f.pairs = sync.OnceValues(func() (pairing, error) { return pair(e.Ops) })
	f.holds = sync.OnceValues(func() ([]Hold, error) { return readHolds(f) })
	f.ledger = sync.OnceValues(func() (*ledger, error) { return newLedger(f) })
	f.wire = sync.OnceValues(func() (*wire, error) {
		l, err := f.ledger()
		if err != nil {
			return nil, err
		}
		return readWire(l), nil
	})
	return f
}

// pairing is the operations of a history, with the operation that each entry belongs to.
type pairing struct {
	ops []history.Op
	all []history.Pair // in order of invocation
	of  []int          // by place in ops: place in all, -1 for an event
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

// place is where the entry of that index stands; -1 if there is none. Indices
// ascend, and in our own histories none is left out.
func (p *pairing) place(index int) int {
	switch {
	case index < 0: // of a command that belongs to no operation
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

// find is the operation to which the entry of that index belongs; nil for none.
func (p *pairing) find(index int) *history.Pair {
	if at := p.place(index); at >= 0 && p.of[at] >= 0 {
		return &p.all[p.of[at]]
	}
	return nil
}
