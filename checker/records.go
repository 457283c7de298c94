package checker

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// records are the places in which a lock keeps notes beside itself: who asked last, how
// often it was asked for. Everybody writes to these places. So a command that overwrites
// a record ends nobody's grant, and a record keeps nobody out.
//
// A place is a record if a refused acquire left its own grant there, over or beside a grant
// of another client. The acquire must also have met a holder's grant in another place of
// the same node and left that as it was: that place refused it. That other place must
// carry the lock: it was empty whenever another client's grant came about in it (a record
// of who was granted the lock last is not), and its grant is no share in a count (a
// fence is).
//
// A place is no record if a holder's release was in vain once somebody had overwritten the
// holder's value there: then the place says whose the lock is.
//
// So a SET XX over another's grant is never excused. A client that a key refuses leaves the
// key alone; a client that overwrites the key has met nothing else that refused it. A
// client's own place in a queue is no record either, since it was nobody else's before. In
// a quorum of keys each key carries a part of the same grant: nothing is beside the lock.
func (w *wire) records() map[keyspace.KeyPlace]bool {
	if w.recorded != nil {
		return w.recorded
	}
	w.recorded = map[keyspace.KeyPlace]bool{}
	if w.Claims.KeyQuorum() > 1 {
		return w.recorded
	}
	over := map[*keyspace.Grant]bool{}
	for _, g := range w.Grants {
		over[g.Over] = over[g.Over] || g.Over != nil && g.Over.Client != g.Client
	}
	for _, g := range w.Grants {
		at := g.KeyPlace()
		if p, isAcquire := w.acquired(g.Op); !over[g] && !g.Beside || w.recorded[at] || !isAcquire || p.Done() != history.Fail {
			continue
		} else if stayed := g.End == nil || g.End.At.Lo > p.Complete.Time; stayed && w.refusedElsewhere(g) {
			w.recorded[at] = true
		}
	}
	for at := range w.recorded {
		w.recorded[at] = !w.isTheLock(at, over)
	}
	for _, g := range w.Grants {
		if at := g.KeyPlace(); w.recorded[at] && over[g.Over] && g.Over.Client != g.Client && w.releasedInVain(g) {
			w.recorded[at] = false
		}
	}
	return w.recorded
}

// isTheLock says whether the place is a count that refused the others itself: no client
// that was granted the lock ever had a share beside or over another client's there.
func (w *wire) isTheLock(at keyspace.KeyPlace, over map[*keyspace.Grant]bool) bool {
	counts := false
	for _, g := range w.Grants {
		if g.Key != at.Key || g.Place != at.Place {
			continue
		}
		counts = counts || g.Beside
		if p, isAcquire := w.acquired(g.Op); isAcquire && p.Done() == history.OK && (over[g] || g.Beside) {
			return false
		}
	}
	return counts
}

// releasedInVain says whether the owner released in vain after its grant was overwritten:
// the release left the other grants of the same acquire on that node, whatever its answer.
func (w *wire) releasedInVain(g *keyspace.Grant) bool {
	return slices.ContainsFunc(w.Commands, func(c history.Command) bool {
		p := w.operation(c.Op)
		return c.Client == g.Client && c.Node == g.Node && p.Invoke.F == history.FRelease && p.Invoke.Lock == g.Lock &&
			p.Done() != history.Info && p.Invoke.Time >= g.Over.At.Hi && slices.ContainsFunc(w.Of(g.Op), func(o *keyspace.Grant) bool {
			return o.Node == g.Node && (o.Key != g.Key || o.Place != g.Place) && !o.Copied && (o.End == nil || o.End.At.Lo > p.Complete.Time)
		})
	})
}

// isRecord says whether the grant stands in a record beside the lock.
func (w *wire) isRecord(g *keyspace.Grant) bool { return w.records()[g.KeyPlace()] }

// refusedElsewhere says whether the attempt that made the grant met a holder's grant in
// another place of the same node, and did not end it. That place was always empty before a
// grant came about in it.
func (w *wire) refusedElsewhere(g *keyspace.Grant) bool {
	return slices.ContainsFunc(w.Contacts, func(m keyspace.Contact) bool {
		return w.Commands[m.Cmd].Op == g.Op && slices.ContainsFunc(m.On, func(o *keyspace.Grant) bool {
			ended := o.Over != nil && o.Over.Op == g.Op || o.End != nil && o.End.Cmd >= 0 && w.Commands[o.End.Cmd].Op == g.Op
			return !ended && o.Node == g.Node && (o.Key != g.Key || o.Place != g.Place) && o.Client != g.Client &&
				m.At.Lo < w.grantedUntil(o) && !o.Rested && w.foundEmpty(o)
		})
	})
}

// foundEmpty says whether no acquire ever put a grant over or beside another client's in the
// place of this grant.
func (w *wire) foundEmpty(o *keyspace.Grant) bool {
	return !slices.ContainsFunc(w.Grants, func(g *keyspace.Grant) bool {
		if g.Key != o.Key || g.Place != o.Place {
			return false
		}
		if g.Over != nil && g.Over.Client != g.Client {
			_, isAcquire := w.acquired(g.Over.Op)
			return isAcquire
		}
		return g.Beside
	})
}
