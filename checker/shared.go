package checker

import (
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// sharedSpots returns the places with a count that keeps nobody out, such as a fence
// counter. In such a place, an acquire succeeded with a share in the count beyond the
// permits: other clients still had the other shares, but no longer attended to the lock. Or
// acquires of several locks have shares there beside a grant in a key of their own.
func (rp *replay) sharedSpots() map[keyspace.KeyPlace]bool {
	last := map[keyspace.KeyPlace]map[int]*keyspace.Grant{}
	for _, g := range rp.Grants {
		p, isAcquire := rp.acquired(g.Op)
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
			shared[at] = shared[at] || g.Beside && !rp.besideEnough(g)
		}
	}
	rp.sharedByLocks(shared)
	return shared
}

// sharedByLocks adds the counts to which acquires of several locks add a share while they
// have a grant in another key. If such a count excluded, the locks would be one lock.
func (rp *replay) sharedByLocks(shared map[keyspace.KeyPlace]bool) {
	lock := map[keyspace.KeyPlace]string{}
	several := map[keyspace.KeyPlace]bool{}
	for _, g := range rp.Grants {
		if _, isAcquire := rp.acquired(g.Op); isAcquire {
			before, known := lock[g.KeyPlace()]
			several[g.KeyPlace()] = several[g.KeyPlace()] || known && before != g.Lock
			lock[g.KeyPlace()] = g.Lock
		}
	}
	for _, g := range rp.Grants {
		if g.Beside && !g.Refused && several[g.KeyPlace()] {
			shared[g.KeyPlace()] = shared[g.KeyPlace()] || slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
				return o.Key != g.Key && !o.Refused && !o.Beside
			})
		}
	}
}

// besideEnough reports whether a count that excludes can explain a successful share. Either
// the share's number is within the permits. Or as many other owners as there are permits
// already had shares and attended to the lock, so that this share was one too many.
func (rp *replay) besideEnough(g *keyspace.Grant) bool {
	permits := permitsOf(rp.Claims)
	if n, err := strconv.Atoi(g.Value); permits > 1 && err == nil && n <= permits {
		return true
	}
	seeing := map[int]bool{}
	for _, o := range rp.Grants {
		if o.Key == g.Key && o.Place == g.Place && o.Node == g.Node && o.Client != g.Client && o.Seq < g.Seq &&
			(o.End == nil || o.End.Seq > g.Seq) && rp.cared(o, g.At) {
			if seeing[o.Client] = true; len(seeing) >= permits {
				return true
			}
		}
	}
	return false
}

// ownOf returns the grants of that acquire. It includes grants that keep nobody out only
// if there are no others.
func (rp *replay) ownOf(op int) []*keyspace.Grant {
	all := rp.Of(op)
	if own := slices.DeleteFunc(slices.Clone(all), rp.keepsNobodyOut); len(own) > 0 {
		return own
	}
	return all
}

// isShared reports whether the grant is a share in a count that keeps nobody out.
func (rp *replay) isShared(g *keyspace.Grant) bool {
	if rp.shared == nil {
		rp.shared = rp.sharedSpots()
	}
	return rp.shared[g.KeyPlace()]
}

// idleBeside reports whether the grant is a refused share beside a granted share, which
// alone kept others out.
func idleBeside(g *keyspace.Grant, m keyspace.Contact) bool {
	return g.Refused && slices.ContainsFunc(m.On, func(o *keyspace.Grant) bool { return !o.Refused })
}
