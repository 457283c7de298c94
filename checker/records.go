package checker

import (
	"maps"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// records returns the places in which a lock keeps notes beside itself, such as the last
// client that asked or the number of requests. Every client writes to these places. So a
// command that overwrites a record ends nobody's grant, and a record keeps nobody out.
//
// A place is a record if a refused acquire left its own grant there, over or beside
// another client's grant, and something else refused the acquire: it met a holder's grant
// in another place of the same node and left that grant as it was. That other place must
// be the lock: it was empty whenever a grant came about in it (a record of the last owner
// is not), and its grant is no share in a count (a fence is).
//
// A place is no record if a holder's release had no effect after another client had
// overwritten the holder's value there. Such a place says who owns the lock.
//
// So a SET XX over another's grant is never excused: a client that overwrites the key was
// refused by nothing else. A client's own place in a queue is no record either, since it
// was nobody else's before. In a quorum of keys each key carries a part of the same grant,
// so that nothing is beside the lock.
//
// A place is a record too if each owner leaves its name there for ever: see ownerRecords.
func (rp *replay) records() map[keyspace.KeyPlace]bool {
	if rp.recorded != nil {
		return rp.recorded
	}
	rp.recorded = map[keyspace.KeyPlace]bool{}
	if rp.Claims.KeyQuorum() > 1 {
		return rp.recorded
	}
	over := map[*keyspace.Grant]bool{}
	for _, g := range rp.Grants {
		over[g.Over] = over[g.Over] || g.Over != nil && !g.Over.Handed && g.Over.Client != g.Client
	}
	for _, g := range rp.Grants {
		at := g.KeyPlace()
		if p, isAcquire := rp.acquired(g.Op); !over[g] && !g.Beside || g.Handed || rp.recorded[at] || !isAcquire || p.Done() != history.Fail {
			continue
		} else if stayed := g.End == nil || g.End.At.Lo > p.Complete.Time; stayed && rp.refusedElsewhere(g) {
			rp.recorded[at] = true
		}
	}
	for at := range rp.recorded {
		rp.recorded[at] = !rp.isTheLock(at, over)
	}
	rp.ownerRecords()
	for _, g := range rp.Grants {
		if at := g.KeyPlace(); rp.recorded[at] && over[g.Over] && g.Over.Client != g.Client && rp.releasedInVain(g) {
			rp.recorded[at] = false
		}
	}
	return rp.recorded
}

// ownerRecords adds the places in which each owner of the lock leaves its name, and that
// nobody empties. Such a place meets three conditions. Only acquires wrote to it, and none
// of them was refused. Each successful acquire that wrote to it also has a grant in the lock
// itself, in another place of the same node. And a client was granted the lock although the
// place still had the value of another client that had released the lock before.
//
// A place can be the lock itself if its grants came about where nobody else had one, and if
// several clients had grants there.
func (rp *replay) ownerRecords() {
	candidates := map[keyspace.KeyPlace]bool{}
	for _, g := range rp.Grants {
		if rp.passedOn(g) {
			candidates[g.KeyPlace()] = true
		}
	}
	if len(candidates) == 0 {
		return
	}
	owners, taken := map[keyspace.KeyPlace]int{}, map[keyspace.KeyPlace]bool{}
	first := map[keyspace.KeyPlace]int{}
	for _, g := range rp.Grants {
		at := g.KeyPlace()
		if g.Over != nil && !g.Over.Handed && g.Over.Client != g.Client {
			_, isAcquire := rp.acquired(g.Over.Op)
			taken[at] = taken[at] || isAcquire
		}
		taken[at] = taken[at] || g.Beside
		if p, isAcquire := rp.acquired(g.Op); !isAcquire || p.Done() != history.OK {
			continue
		}
		if client, known := first[at]; !known {
			first[at], owners[at] = g.Client, 1
		} else if client != g.Client {
			owners[at] = 2
		}
	}
	besideTheLock := func(g *keyspace.Grant) bool {
		return slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
			at := o.KeyPlace()
			return o.Node == g.Node && at != g.KeyPlace() && !o.Rested && !taken[at] && owners[at] > 1
		})
	}
	for _, g := range rp.Grants {
		p, isAcquire := rp.acquired(g.Op)
		emptied := g.End != nil && g.End.How == keyspace.Deleted && g.End.Cmd >= 0
		if !g.Copied && (!isAcquire || p.Done() == history.Fail || g.Beside || emptied || p.Done() == history.OK && !besideTheLock(g)) {
			delete(candidates, g.KeyPlace())
		}
	}
	maps.Copy(rp.recorded, candidates)
}

// passedOn reports whether the owner of the grant had released the lock when another
// client's successful acquire overwrote the grant.
func (rp *replay) passedOn(g *keyspace.Grant) bool {
	if g.Over == nil || g.Over.Client == g.Client {
		return false
	}
	p, isAcquire := rp.acquired(g.Over.Op)
	h := rp.hold(g)
	return isAcquire && p.Done() == history.OK && h != nil && h.ToWhy == ByRelease && h.To < g.Over.At.Lo
}

// isTheLock reports whether the place is a count that refused the others itself: no client
// that was granted the lock ever had a share there beside or over another client's.
func (rp *replay) isTheLock(at keyspace.KeyPlace, over map[*keyspace.Grant]bool) bool {
	counts := false
	for _, g := range rp.Grants {
		if g.Key != at.Key || g.Place != at.Place {
			continue
		}
		counts = counts || g.Beside
		if p, isAcquire := rp.acquired(g.Op); isAcquire && p.Done() == history.OK && (over[g] || g.Beside) {
			return false
		}
	}
	return counts
}

// releasedInVain reports whether the owner's release had no effect after its grant was
// overwritten: the other grants of the same acquire on that node stayed, whatever the
// release answered.
func (rp *replay) releasedInVain(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Commands, func(c history.Command) bool {
		p := rp.operation(c.Op)
		return c.Client == g.Client && c.Node == g.Node && p.Invoke.F == history.FRelease && p.Invoke.Lock == g.Lock &&
			p.Done() != history.Info && p.Invoke.Time >= g.Over.At.Hi && slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
			return o.Node == g.Node && (o.Key != g.Key || o.Place != g.Place) && !o.Copied && (o.End == nil || o.End.At.Lo > p.Complete.Time)
		})
	})
}

func (rp *replay) isRecord(g *keyspace.Grant) bool { return rp.records()[g.KeyPlace()] }

// refusedElsewhere reports whether the attempt that made the grant met a holder's grant in
// another place of the same node and did not end it. That other place was always empty
// before a grant came about in it.
func (rp *replay) refusedElsewhere(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Contacts, func(m keyspace.Contact) bool {
		return rp.Commands[m.Cmd].Op == g.Op && slices.ContainsFunc(m.On, func(o *keyspace.Grant) bool {
			ended := o.Over != nil && o.Over.Op == g.Op || o.End != nil && o.End.Cmd >= 0 && rp.Commands[o.End.Cmd].Op == g.Op
			return !ended && o.Node == g.Node && (o.Key != g.Key || o.Place != g.Place) && o.Client != g.Client &&
				m.At.Lo < rp.grantedUntil(o) && !o.Rested && rp.foundEmpty(o)
		})
	})
}

// foundEmpty reports whether no acquire ever put a grant over or beside another client's
// in the place of this grant.
func (rp *replay) foundEmpty(o *keyspace.Grant) bool {
	return !slices.ContainsFunc(rp.Grants, func(g *keyspace.Grant) bool {
		if g.Key != o.Key || g.Place != o.Place {
			return false
		}
		if g.Over != nil && !g.Over.Handed && g.Over.Client != g.Client {
			_, isAcquire := rp.acquired(g.Over.Op)
			return isAcquire
		}
		return g.Beside
	})
}
