package history

import (
	"cmp"
	"slices"
)

// Pairing holds the operations of a history and the operation that each entry belongs to.
type Pairing struct {
	Ops []Op
	All []Pair // in order of invocation
	Of  []int  // Of[i] is the position in All of the operation that Ops[i] belongs to; -1 for an event
}

// Paired returns the history with its operations. It returns the error of Pairs.
func Paired(ops []Op) (Pairing, error) {
	all, err := Pairs(ops)
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
	i, found := slices.BinarySearchFunc(p.Ops, index, func(op Op, index int) int { return cmp.Compare(op.Index, index) })
	if !found {
		return -1
	}
	return i
}

// Find returns the operation that the entry with this index belongs to; nil if it belongs to none.
func (p *Pairing) Find(index int) *Pair {
	if at := p.Place(index); at >= 0 && p.Of[at] >= 0 {
		return &p.All[p.Of[at]]
	}
	return nil
}

// Operation returns the client's operation whose invocation has this index; nil if there is none.
func (p *Pairing) Operation(op int) *Pair {
	if of := p.Find(op); of != nil && of.Invoke.Index == op && of.Invoke.Process != Nemesis {
		return of
	}
	return nil
}
