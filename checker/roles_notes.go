package checker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds records and counters: see the roles of places.

// keyKeepsNobodyOut reports whether grants stand in the key at the end of the trial, and none of
// them keeps anybody out.
func (rp *places) keyKeepsNobodyOut(node, key string) bool {
	any := false
	for _, g := range rp.Grants {
		if g.Node == node && g.Key == key && g.End == nil && g.Over == nil {
			any = true
			if !rp.is(g, idle) {
				return false
			}
		}
	}
	return any
}

// records returns the places that hold notes of a lock instead of the lock itself, such as the last
// client that asked or the number of requests. Every client writes to these places. So a command
// that overwrites a record ends nobody's grant, and a record keeps nobody out.
//
// A place is a record if all of these are true:
//
//   - A refused acquire left its own grant in the place: it overwrote another client's grant, or added
//     a share to other shares.
//   - The acquire met a holder's grant in another place of the same node and did not end that
//     grant. So that other place refused the acquire.
//   - That other place can be the lock: no acquire overwrote another client's grant there (acquires do
//     so in a record of the last owner), and none added a share to other shares (acquires do so in a
//     fence counter).
//
// A place is no record if a holder's release had no effect after another client had overwritten the
// holder's value there. Such a place shows who owns the lock.
//
// A place is no record either if it holds a count and no acquire succeeded there by adding a share to
// other shares or by overwriting another client's share: that count itself refused clients.
//
// Example: refused clients overwrite a lock's only key with SET XX. That key is no record, because no
// other place can have refused them. A client's own place in a queue is no record either, because no
// other client had a grant there. A quorum of keys has no records, because each key carries a part of
// the same grant.
//
// A place is a record too if each owner leaves its name there for ever: see ownerRecords.
func (rp *places) records() map[keyspace.KeyPlace]bool {
	records := map[keyspace.KeyPlace]bool{}
	if rp.Claims.KeyQuorum() > 1 {
		return records
	}
	intruders := map[*keyspace.Grant]bool{}
	for _, g := range rp.Grants {
		if robbed(g) {
			intruders[g.Over] = true
		}
	}
	for _, g := range rp.Grants {
		at := g.KeyPlace()
		p, isAcquire := rp.Acquired(g.Op)
		if intruded := intruders[g] || g.JoinedOthers; !intruded || g.Handed || records[at] || !isAcquire || p.Done() != history.Fail {
			continue
		}
		u := rp.at[at]
		isTheLock := u.joined && !u.entered
		records[at] = !isTheLock && (g.End == nil || g.End.At.Lo > p.Complete.Time) && rp.refusedElsewhere(g)
	}
	maps.Copy(records, rp.ownerRecords())
	for _, g := range rp.Grants {
		if at := g.KeyPlace(); records[at] && robbed(g) && rp.releasedInVain(g) {
			records[at] = false
		}
	}
	return records
}

// robbed reports whether another client overwrote the grant with a grant of its own.
func robbed(g *keyspace.Grant) bool {
	return g.Over != nil && !g.Over.Handed && g.Over.Client != g.Client
}

// ownerRecords returns the places in which each owner of the lock leaves its name, and that nobody
// empties. Such a place meets three conditions:
//
//   - Only acquires wrote to it, and none of them was refused.
//   - Each successful acquire that wrote to it also has a grant in the lock itself, in another
//     place of the same node.
//   - A client was granted the lock although the place still had the value of another client that
//     had released the lock before.
//
// A place counts as the lock itself if several clients were granted the lock there, and no grant
// there was made while another client had a grant there.
func (rp *places) ownerRecords() map[keyspace.KeyPlace]bool {
	candidates := map[keyspace.KeyPlace]bool{}
	for _, g := range rp.Grants {
		if rp.passedOn(g) {
			candidates[g.KeyPlace()] = true
		}
	}
	besideTheLock := func(g *keyspace.Grant) bool {
		return slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
			at := o.KeyPlace()
			return o.Node == g.Node && at != g.KeyPlace() && !o.Rested && !rp.at[at].contended && rp.at[at].owners
		})
	}
	for _, g := range rp.Grants {
		p, isAcquire := rp.Acquired(g.Op)
		emptied := g.End != nil && g.End.How == keyspace.Deleted && g.End.Cmd >= 0
		if !g.Copied && (!isAcquire || p.Done() == history.Fail || g.JoinedOthers || emptied || p.Done() == history.OK && !besideTheLock(g)) {
			delete(candidates, g.KeyPlace())
		}
	}
	return candidates
}

// passedOn reports whether the owner of the grant had released the lock when another
// client's successful acquire overwrote the grant.
func (rp *places) passedOn(g *keyspace.Grant) bool {
	if g.Over == nil || g.Over.Client == g.Client {
		return false
	}
	p, isAcquire := rp.Acquired(g.Over.Op)
	h := rp.hold(g)
	return isAcquire && p.Done() == history.OK && h != nil && h.ToWhy == account.ByRelease && h.To < g.Over.At.Lo
}

// releasedInVain reports whether the owner's release had no effect after the owner's grant was overwritten.
// A release had no effect if the other grants of the same acquire on that node stayed. What the release
// answered does not matter.
func (rp *places) releasedInVain(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Commands, func(c history.Command) bool {
		p := rp.Operation(c.Op)
		return c.Client == g.Client && c.Node == g.Node && p.Invoke.F == history.FRelease && p.Invoke.Lock == g.Lock &&
			p.Done() != history.Info && p.Invoke.Time >= g.Over.At.Hi && slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
			return o.Node == g.Node && (o.Key != g.Key || o.Place != g.Place) && !o.Copied && (o.End == nil || o.End.At.Lo > p.Complete.Time)
		})
	})
}

// refusedElsewhere reports whether the attempt that made the grant met a holder's grant in another
// place of the same node and did not end that grant. The other place must have been empty whenever
// a grant was made in it.
func (rp *places) refusedElsewhere(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Contacts, func(m keyspace.Contact) bool {
		return rp.Commands[m.Cmd].Op == g.Op && slices.ContainsFunc(m.On, func(o *keyspace.Grant) bool {
			ended := o.Over != nil && o.Over.Op == g.Op || rp.endedIn(o, g.Op)
			return !ended && o.Node == g.Node && (o.Key != g.Key || o.Place != g.Place) && o.Client != g.Client &&
				m.At.Lo < rp.grantedUntil(o) && !o.Rested && !rp.at[o.KeyPlace()].contended
		})
	})
}

// counters returns the places with a count that keeps nobody out, such as a fence counter. There are two
// signs of such a count:
//
//   - An acquire succeeded although a count that keeps others out would have refused it: see besideEnough.
//   - Acquires of several locks have shares in the count: see heldBeside.
func (rp *places) counters() map[keyspace.KeyPlace]bool {
	type share struct {
		keyspace.KeyPlace
		op int
	}
	last := map[share]*keyspace.Grant{}
	for _, g := range rp.Grants {
		if p, isAcquire := rp.Acquired(g.Op); isAcquire && !g.Copied && p.Done() == history.OK {
			last[share{g.KeyPlace(), g.Op}] = g
		}
	}
	counters := map[keyspace.KeyPlace]bool{}
	for _, g := range rp.Grants {
		at := g.KeyPlace()
		if !g.JoinedOthers || counters[at] {
			continue
		}
		beside := last[share{at, g.Op}] == g && !rp.besideEnough(g)
		counters[at] = beside || rp.at[at].locks && !g.Refused && rp.heldBeside(g)
	}
	return counters
}

// heldBeside reports whether the acquire that made the share has a grant in another key. If a count
// to which acquires of several locks add shares kept clients out, the locks would exclude each other.
func (rp *places) heldBeside(g *keyspace.Grant) bool {
	return slices.ContainsFunc(rp.Of(g.Op), func(o *keyspace.Grant) bool {
		return o.Key != g.Key && !o.Refused && !o.JoinedOthers
	})
}

// besideEnough reports whether the acquire that made the share g can have succeeded although the count
// keeps others out. This is possible in two cases:
//
//   - The lock has several permits, and the count that the acquire raised is within the permits.
//   - Other owners that attended to the lock had shares for all permits. Then the lock let in one owner too
//     many.
func (rp *places) besideEnough(g *keyspace.Grant) bool {
	permits := evidence.Permits(rp.Claims)
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

// ownOf returns the grants of the acquire op. It includes grants that keep nobody out only
// if there are no others.
func (rp *places) ownOf(op int) []*keyspace.Grant {
	all := rp.Of(op)
	if own := slices.DeleteFunc(slices.Clone(all), func(g *keyspace.Grant) bool { return rp.is(g, idle) }); len(own) > 0 {
		return own
	}
	return all
}

// idleBeside reports whether the grant is a refused share, and the contact also met a granted share.
// Then only the granted share kept others out.
func idleBeside(g *keyspace.Grant, m keyspace.Contact) bool {
	return g.Refused && slices.ContainsFunc(m.On, func(o *keyspace.Grant) bool { return !o.Refused })
}
