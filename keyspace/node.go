package keyspace

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// node is one Redis node while reader.walk goes through the evidence in order of time.
type node struct {
	name  string
	items []item
	keys  map[string]*keyState
	ahead time.Duration // how far its wall clock is ahead now
	jumps []jump        // all jumps of its wall clock so far
}

// jump is a change of a wall clock: since is its time, and ahead is how far the clock was
// ahead from then on.
type jump struct{ since, ahead time.Duration }

// aheadAt returns how far the node's wall clock was ahead at that time.
func (n *node) aheadAt(at time.Duration) (ahead time.Duration) {
	for _, j := range n.jumps {
		if j.since <= at {
			ahead = j.ahead
		}
	}
	return ahead
}

// item is a command with the changes that it made, or a change that no command made.
type item struct {
	cmd     int // position of the command in the log; -1 for none
	changes []int
	at      time.Duration // the earliest time at which the command or the change can have happened
}

func (n *node) sorted() []*keyState {
	var all []*keyState
	for _, name := range n.names() {
		all = append(all, n.keys[name])
	}
	return all
}

func (n *node) names() []string { return slices.Sorted(maps.Keys(n.keys)) }

// shift moves the end of the key's term, and of its grants' terms, by as much as a jump of the
// node's clock moved the key's expiry.
func (r *reader) shift(k *keyState, c history.KeyChange, at When) {
	if c.Before == nil || c.After == nil {
		return
	}
	by := c.After.Expires - c.Before.Expires
	k.jumped = at.Lo
	move := func(t *Term) {
		t.Expiry = When{t.Expiry.Lo + by, t.Expiry.Hi + by}
		t.Moved += by
		t.Most = max(t.Most, t.Moved)
	}
	move(&k.term)
	for _, g := range k.everything() {
		g.terms.amend(move)
	}
}
