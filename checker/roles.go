package checker

import (
	"cmp"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// role is what the places of a key are to a lock. A place may have several roles; a place without any is the
// lock itself.
type role uint8

// The roles of places, and the tests that find them.
const (
	record  role = 1 << iota // a note of the lock, such as its last owner: see records
	counter                  // a count that every client may raise, such as a fence: see counters
	passage                  // a queue that clients leave before they have the lock: see passages
	waiting                  // it has nothing but entries of waiting clients: see waitingKeys
)

// What the roles mean.
const (
	idle   = record | counter  // grants there keep nobody out
	queue  = passage | waiting // grants there may wait for longer than a lease
	exempt = record | passage  // a command that ends a grant there ends nobody's hold
	aside  = idle | passage    // no hold rests on a grant there
)

// places knows what each place of a key is. Who owns a grant is uncertain in two cases: several holders
// share one value (place.several), or acquires take elements out of a key (pools).
type places struct {
	*ages
	at       map[keyspace.KeyPlace]*place
	pools    map[string]account.Fact // by lock, the evidence that it is a pool: see takenOut
	unsure   account.Fact            // the first evidence that grants cannot be told apart
	attempts map[evidence.Owner][]evidence.Interval
}

// place is the profile of one place: its roles, and how acquires used it.
type place struct {
	roles     role
	several   account.Fact // the evidence that one value carries several holders: see severalInOne
	joined    bool         // a share was added to other shares
	contended bool         // an acquire overwrote another client's grant, or a share was added to other shares
	entered   bool         // an acquire succeeded although it did so
	clients   bool         // acquires of several clients made grants
	owners    bool         // acquires of several clients that succeeded did
	locks     bool         // acquires of several locks did
	// The first acquire that made a grant, and the first of them that succeeded.
	first, owner *keyspace.Grant
}

// placesOf works out the roles, each by the roles and values before it.
func placesOf(a *ages) *places {
	rp := &places{ages: a, at: map[keyspace.KeyPlace]*place{}, pools: map[string]account.Fact{}}
	for _, g := range rp.Grants {
		rp.use(g)
	}
	rp.mark(counter, rp.counters(), nil)
	rp.mark(record, rp.records(), nil)
	rp.mark(passage, nil, rp.passages())
	rp.mark(waiting, nil, rp.waitingKeys())
	rp.severalInOne()
	rp.takenOut()
	rp.attempts = rp.findAttempts()
	return rp
}

// mark gives the role to these places, and to all places of these keys.
func (rp *places) mark(r role, at map[keyspace.KeyPlace]bool, keys map[string]bool) {
	for spot, p := range rp.at {
		if at[spot] || keys[spot.Key] {
			p.roles |= r
		}
	}
}

// is reports whether the grant's place has one of these roles.
func (rp *places) is(g *keyspace.Grant, roles role) bool {
	p := rp.at[g.KeyPlace()]
	return p != nil && p.roles&roles != 0
}

// indistinct returns the evidence that the grant cannot be told from others, if there is any.
func (rp *places) indistinct(g *keyspace.Grant) (why account.Fact, is bool) {
	if p := rp.at[g.KeyPlace()]; p != nil && p.several.What != "" {
		return p.several, true
	}
	why, is = rp.pools[g.Lock]
	return why, is
}

// use records how an acquire used the place of its grant.
func (rp *places) use(g *keyspace.Grant) {
	u := rp.at[g.KeyPlace()]
	if u == nil {
		u = &place{}
		rp.at[g.KeyPlace()] = u
	}
	if robbed(g) {
		by, acquired := rp.Acquired(g.Over.Op)
		u.contended, u.entered = u.contended || acquired, u.entered || acquired && by.Done() == history.OK
	}
	u.joined, u.contended = u.joined || g.JoinedOthers, u.contended || g.JoinedOthers
	p, isAcquire := rp.Acquired(g.Op)
	if !isAcquire {
		return
	}
	u.first = cmp.Or(u.first, g)
	u.clients, u.locks = u.clients || u.first.Client != g.Client, u.locks || u.first.Lock != g.Lock
	if p.Done() == history.OK {
		u.owner = cmp.Or(u.owner, g)
		u.owners, u.entered = u.owners || u.owner.Client != g.Client, u.entered || g.JoinedOthers
	}
}
