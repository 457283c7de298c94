package checker

import "github.com/lockstorm/lockstorm/keyspace"

// spot is one place of one key, on whichever node.
type spot struct{ key, place string }

// sharedSpots are the places that keep nobody out: an acquire succeeded with a share in
// a count while others had theirs. A fence counter is one, and a semaphore's count.
func (w *wire) sharedSpots() map[spot]bool {
	last := map[spot]map[int]*keyspace.Grant{}
	for _, g := range w.Grants {
		p, isAcquire := w.acquired(g.Op)
		if !isAcquire || g.Copied || p.Complete == nil || p.Complete.Type != "ok" {
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
			shared[at] = shared[at] || g.Beside
		}
	}
	return shared
}

// isShared says whether the grant is a share in a count that keeps nobody out.
func (w *wire) isShared(g *keyspace.Grant) bool {
	if w.shared == nil {
		w.shared = w.sharedSpots()
	}
	return w.shared[spot{g.Key, g.Place}]
}
