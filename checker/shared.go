package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// spot is one place of one key, on whichever node.
type spot struct{ key, place string }

// sharedSpots are the places that keep nobody out: an acquire succeeded with a share in
// a count while others, who had nothing to do with the lock any more, had theirs. A
// fence counter is one, and a semaphore's count.
func (w *wire) sharedSpots() map[spot]bool {
	last := map[spot]map[int]*keyspace.Grant{}
	for _, g := range w.Grants {
		p, isAcquire := w.acquired(g.Op)
		if !isAcquire || g.Copied || p.Done() != history.OK {
			continue
		}
		at := spot{g.Key, g.Place}
		if last[at] == nil {
			last[at] = map[int]*keyspace.Grant{}
		}
		last[at][g.Op] = g
	}
	shared := map[spot]bool{}
	for at, grants := range last {
		for _, g := range grants {
			shared[at] = shared[at] || g.Beside && (permitsOf(w.Claims) > 1 || !w.besideSomebody(g))
		}
	}
	return shared
}

// besideSomebody says whether another who has a share in the count was seeing to the lock
// when the grant came about.
func (w *wire) besideSomebody(g *keyspace.Grant) bool {
	return slices.ContainsFunc(w.Grants, func(o *keyspace.Grant) bool {
		return o.Key == g.Key && o.Place == g.Place && o.Node == g.Node && o.Client != g.Client && o.Seq < g.Seq &&
			(o.End == nil || o.End.Seq > g.Seq) && w.cared(o, g.At)
	})
}

// ownOf are the grants of that acquire, without those that keep nobody out if it has any
// other.
func (w *wire) ownOf(op int) []*keyspace.Grant {
	all := w.Of(op)
	if own := slices.DeleteFunc(slices.Clone(all), w.isShared); len(own) > 0 {
		return own
	}
	return all
}

// isShared says whether the grant is a share in a count that keeps nobody out.
func (w *wire) isShared(g *keyspace.Grant) bool {
	if w.shared == nil {
		w.shared = w.sharedSpots()
	}
	return w.shared[spot{g.Key, g.Place}]
}
