package evidence

import (
	"sync"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// Case is the evidence of one trial with the analyses that several readers share. Each
// analysis is computed at its first use. Readers must not change an analysis, so that the order of
// readers does not matter. A Case is not for concurrent use.
type Case struct {
	history.Evidence
	unsound error
	pairing history.Pairing
	holds   func() []Hold
	replay  func() *Replay
}

// New returns the case of this evidence. The caller must not change the evidence while the case is
// in use. In the case, every operation on a read-write lock has its mode, if the mode can be known. A
// command that a client sent for another lock than that of its open operation belongs to no operation: see
// keyspace.Attribute.
func New(e history.Evidence) *Case {
	e.Ops = moded(e)
	e = keyspace.Attribute(e)
	f := &Case{Evidence: e}
	if f.unsound = sound(e.Ops); f.unsound == nil {
		f.pairing, f.unsound = history.Paired(e.Ops)
	}
	if f.unsound != nil {
		e = history.Evidence{Claims: e.Claims}
	}
	f.holds = sync.OnceValue(func() []Hold { return readHolds(e, f.pairing) })
	f.replay = sync.OnceValue(func() *Replay {
		return &Replay{Index: newIndex(e, f.pairing, f.holds()), Keys: keyspace.ReadPaired(e, f.pairing)}
	})
	return f
}

// Sound returns an error if the history is impossible: entries are out of order, a time is out of range,
// a client acts after its crash, or the operations cannot be paired. Of an impossible history, Pairs,
// Holds and Replay return what an empty history has.
func (f *Case) Sound() error { return f.unsound }

// Pairs returns the operations of the history.
func (f *Case) Pairs() history.Pairing { return f.pairing }

// Holds returns the believed holds of the history, in order of From, by the rules that
// checker.Holds gives. No hold is empty.
func (f *Case) Holds() []Hold { return f.holds() }

// Replay returns the index of the history with the grants that the commands made on keys.
func (f *Case) Replay() *Replay { return f.replay() }

// Replay is a trial replayed: the index of its history, and the grants that its commands
// made on the keys. Readers must not change it.
type Replay struct {
	*Index
	*keyspace.Keys
}

// UnitOf returns the unit that gives one vote of a quorum: the key, if several keys make
// up the quorum; otherwise the node, with an empty key.
func (rp *Replay) UnitOf(at keyspace.NodeKey) keyspace.NodeKey {
	if rp.Claims.KeyQuorum() > 1 {
		return at
	}
	return keyspace.NodeKey{Node: at.Node}
}

// Quorum returns the number of units that an acquire needs.
func (rp *Replay) Quorum() int { return max(rp.Claims.NodeQuorum(), rp.Claims.KeyQuorum()) }
