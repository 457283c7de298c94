package evidence

import (
	"cmp"
	"slices"

	"github.com/lockstorm/lockstorm/history"
)

// Pairing holds the operations of a history and the operation that each entry belongs to.
type Pairing struct {
	Ops []history.Op
	All []history.Pair // in order of invocation
	Of  []int          // Of[i] is the position in All of the operation that Ops[i] belongs to; -1 for an event
}

func pair(ops []history.Op) (Pairing, error) {
	all, err := history.Pairs(ops)
	if err != nil {
		return Pairing{}, err
	}
	p := Pairing{Ops: ops, All: all, Of: make([]int, len(ops))}
	for i := range p.Of {
		p.Of[i] = -1
	}
	for i := range all {
		if at := p.Place(all[i].Invoke.Index); at >= 0 {
			p.Of[at] = i
		}
		if all[i].Complete == nil {
			continue
		}
		if at := p.Place(all[i].Complete.Index); at >= 0 {
			p.Of[at] = i
		}
	}
	return p, nil
}

// Place returns the position in Ops of the entry with that index; -1 if there is none. Indices ascend,
// and have no gaps in Lockstorm's own histories.
func (p *Pairing) Place(index int) int {
	switch {
	case index < 0: // the index of a command without an operation
		return -1
	case index < len(p.Ops) && p.Ops[index].Index == index:
		return index
	}
	i, found := slices.BinarySearchFunc(p.Ops, index, func(op history.Op, index int) int { return cmp.Compare(op.Index, index) })
	if !found {
		return -1
	}
	return i
}

// Find returns the operation that the entry with this index belongs to; nil if it belongs to none.
func (p *Pairing) Find(index int) *history.Pair {
	if at := p.Place(index); at >= 0 && p.Of[at] >= 0 {
		return &p.All[p.Of[at]]
	}
	return nil
}
