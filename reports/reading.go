package reports

import (
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// reading is what is read from the evidence of a trial once, for all that is
// told and drawn of it. Nobody changes it.
type reading struct {
	pairs []history.Pair
	holds []checker.Hold
	// became is what became of every key, which events and spans tell; keys are those
	// of the lock that the finding is about.
	became *keyspace.Keys
	events []keyEvent
	spans  []keySpan
	keys   []keyName
	wins   []faultWindow
}

// read reads the evidence. A history that does not pair is judged unknown: it
// shows no operations and no holds.
func read(e history.Evidence, lock string) reading {
	r := reading{wins: windows(e.Ops), became: keyspace.Read(e)}
	if pairs, err := history.Pairs(e.Ops); err == nil {
		r.pairs = pairs
	}
	if holds, err := checker.Holds(e); err == nil {
		r.holds = holds
	}
	r.events, r.spans = keyLife(e, r.became)
	r.keys = keysOf(lock, e, r.spans, r.events)
	return r
}
