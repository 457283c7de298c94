package checker

import (
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// sharedSpots are the places that keep nobody out, such as a fence counter. An acquire
// succeeded there with a share in a count although no permit was left: others, who had
// nothing to do with the lock any more, still had the other shares.
func (w *wire) sharedSpots() map[keyspace.KeyPlace]bool {
	last := map[keyspace.KeyPlace]map[int]*keyspace.Grant{}
	for _, g := range w.Grants {
		p, isAcquire := w.acquired(g.Op)
		if !isAcquire || g.Copied || p.Done() != history.OK {
			continue
		}
		at := g.KeyPlace()
		if last[at] == nil {
			last[at] = map[int]*keyspace.Grant{}
		}
		last[at][g.Op] = g
	}
	shared := map[keyspace.KeyPlace]bool{}
	for at, grants := range last {
		for _, g := range grants {
			shared[at] = shared[at] || g.Beside && !w.besideEnough(g)
		}
	}
	return shared
}

// besideEnough says whether the share was one of those that there are, or so many others
// who have one were seeing to the lock when it came about that it was one too many.
func (w *wire) besideEnough(g *keyspace.Grant) bool {
	permits := permitsOf(w.Claims)
	if n, err := strconv.Atoi(g.Value); permits > 1 && err == nil && n <= permits {
		return true
	}
	seeing := map[int]bool{}
	for _, o := range w.Grants {
		if o.Key == g.Key && o.Place == g.Place && o.Node == g.Node && o.Client != g.Client && o.Seq < g.Seq &&
			(o.End == nil || o.End.Seq > g.Seq) && w.cared(o, g.At) {
			if seeing[o.Client] = true; len(seeing) >= permits {
				return true
			}
		}
	}
	return false
}

// ownOf are the grants of that acquire. Grants that keep nobody out count only if it has no
// others.
func (w *wire) ownOf(op int) []*keyspace.Grant {
	all := w.Of(op)
	if own := slices.DeleteFunc(slices.Clone(all), w.keepsNobodyOut); len(own) > 0 {
		return own
	}
	return all
}

// isShared says whether the grant is a share in a count that keeps nobody out.
func (w *wire) isShared(g *keyspace.Grant) bool {
	if w.shared == nil {
		w.shared = w.sharedSpots()
	}
	return w.shared[g.KeyPlace()]
}

// idleBeside says whether the grant is a refused share beside a share that was granted: the
// granted share alone kept others out.
func idleBeside(g *keyspace.Grant, m keyspace.Contact) bool {
	return g.Refused && slices.ContainsFunc(m.On, func(o *keyspace.Grant) bool { return !o.Refused })
}
