package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// A grant is overdue if it still keeps others out although no client believes that it holds the lock and, by
// the recipe's claims, the grant should have ended. A reason without a cause means that it is not overdue.

// whyOverdue returns the reason why the grant, which kept the client out at the contact, was overdue.
func (rp *orphanage) whyOverdue(l *keyspace.Grant, m keyspace.Contact, client int) reason {
	if rp.Claims.ClientClock {
		return rp.staleTime(l, m.At.Lo, client)
	}
	t, now := l.TermAt(m.At.Lo), m.At.Lo
	if rp.prolonged(l, m) != nil {
		return reason{} // the renewal explains why the grant still stands
	}
	claimed, over := rp.outlived(t, now)
	over = over && now > rp.lastWriteAt(l, now)+claimed+claimed/10
	switch {
	case t.Most > 0 && now > t.Fair.Hi:
		return rp.prolongedByClock(l, t)
	case !t.Mortal && over && rp.keptByClock(l, now):
		return rp.prolongedByClock(l, t)
	case !t.Mortal && (over || claimed == 0): // without a claimed recovery time, every key without a TTL is overdue
		return because(NoExpiry, nil, account.Fact{What: account.Immortal, Since: t.At.Lo})
	case !over:
	case l.Copied && l.AnyTerm(func(t *keyspace.Term) bool { return !t.Mortal }):
		return because(NoExpiry, nil, account.Fact{What: account.TTLNotReplicated, Until: t.Expiry.Mid(), Nodes: []string{l.Node}})
	case givenBy(l, t) > claimed+claimed/10:
		return rp.givenTooMuch(l, t)
	default:
		return because(Unclassified, nil, account.Fact{What: account.LongerThanSaid, Span: claimed})
	}
	return reason{}
}

// whyLeftOverdue returns the reason why a key that the post-mortem op found is overdue. l is the grant
// that the key carries; nil if unknown.
func (rp *orphanage) whyLeftOverdue(l *keyspace.Grant, op history.Op, k history.KeyState) reason {
	claimed := rp.Claims.Recovery
	over := k.TTL > claimed+claimed/10
	if l != nil {
		t := l.TermAt(op.Time)
		_, outlived := rp.outlived(t, op.Time)
		over = over || outlived
		if t.Most > 0 && (over || op.Time > t.Fair.Hi) {
			return rp.prolongedByClock(l, t)
		}
	}
	if !over {
		return reason{}
	}
	if l != nil && claimed > 0 {
		if t := l.TermAt(op.Time); givenBy(l, t) > claimed+claimed/10 {
			return rp.givenTooMuch(l, t)
		}
	}
	return unclear
}

// givenTooMuch returns the reason that the grant's own client gave the key a longer TTL than the recipe claims, in the
// acquire or, as an extension that adds to what is left does, later.
func (rp *orphanage) givenTooMuch(l *keyspace.Grant, t *keyspace.Term) reason {
	why := account.Fact{What: account.GivenTooMuch, Age: givenBy(l, t), Span: rp.Claims.Recovery}
	if t.Cmd >= 0 && rp.Commands[t.Cmd].Op != l.Op {
		why.What, why.Clients, why.Key, why.Command, why.At = account.RenewedTooFar, []int{t.Client}, l.Key, rp.call(t.Cmd), t.At.Lo
	}
	return because(LongLease, nil, why)
}

// givenBy returns the TTL that the grant's own client gave the key with the command of the term; 0 if
// another client sent that command. Several terms may have the same command, since a node may fall back to
// an older term, as a promoted replica does. The greatest TTL of these terms counts.
func givenBy(l *keyspace.Grant, t *keyspace.Term) (given time.Duration) {
	for i := range l.TermCount() {
		if x := l.Term(i); x.Cmd == t.Cmd && x.Client == l.Client {
			given = max(given, x.Given())
		}
	}
	return given
}

// prolongedByClock returns the reason that the node's clock was set back, so that the key lived longer.
func (rp *orphanage) prolongedByClock(l *keyspace.Grant, t *keyspace.Term) reason {
	until := t.Fair.Mid()
	if !t.Mortal {
		until = max(t.At.Lo, rp.lastWriteAt(l, Never)) + rp.Claims.Recovery
	}
	return because(ServerClock, nil, account.Fact{What: account.ClockSetBack, Nodes: []string{l.Node}, Key: l.Key, Until: until})
}

// keptByClock reports whether a grant outlived the claimed recovery time only because its
// node's clock jumped. This concerns locks that keep times of the node's clock in values:
// they ask the node for the time, and none of their keys ever had a TTL.
func (rp *ages) keptByClock(l *keyspace.Grant, now time.Duration) bool {
	claimed := rp.Claims.Recovery
	really, byNode := rp.aged(l, now)
	if claimed == 0 || really <= claimed || byNode > claimed+claimed/10 || !keyspace.AsksTime(rp.Commands) {
		return false
	}
	return !slices.ContainsFunc(rp.Grants, func(g *keyspace.Grant) bool {
		return g.Lock == l.Lock && g.AnyTerm(func(t *keyspace.Term) bool { return t.Mortal })
	})
}

// outlived reports whether a term has lasted longer than Claims.Recovery by more than a
// tenth, and returns Claims.Recovery. If Recovery is 0, there is no limit.
func (rp *ages) outlived(t *keyspace.Term, now time.Duration) (claimed time.Duration, over bool) {
	claimed = rp.Claims.Recovery
	return claimed, claimed > 0 && now > t.At.Hi+claimed+claimed/10
}

// staleTime judges a grant in a lock that judges by clients' clocks. The key holds a time
// of the owner's clock, and other clients compare this time with their own clocks. If no
// clock was wrong, the grant is not overdue: a client that met the grant late may have lost a
// race to take it over.
func (rp *orphanage) staleTime(l *keyspace.Grant, now time.Duration, client int) reason {
	claimed := max(rp.Claims.Recovery, rp.Claims.TTL)
	late := now - l.At.Hi - claimed - claimed/10
	if ahead, _, ok := rp.clockAhead(l, []int{client}, now); ok && 0 < late && late <= ahead {
		return because(ClientClock, nil, account.Fact{What: account.TimeAhead, Clients: []int{l.Client, client}, Offset: ahead})
	}
	return reason{}
}

// clockAhead compares the owner's clock, when the owner read it, with the waiting clients'
// clocks now. It returns the greatest lead of the owner's clock, and the client whose clock
// is behind by that lead. ok is false if the owner's clock does not lead.
func (rp *ages) clockAhead(l *keyspace.Grant, waiting []int, now time.Duration) (ahead time.Duration, client int, ok bool) {
	if l == nil {
		return 0, 0, false
	}
	asked := l.At.Lo
	if p := rp.Operation(l.Op); rp.Has(l.Op) {
		asked = p.Invoke.Time
	}
	for _, c := range waiting {
		if by := rp.Clocks[l.Client].Ahead(asked) - rp.Clocks[c].Ahead(now); by > ahead {
			ahead, client, ok = by, c, true
		}
	}
	return ahead, client, ok
}

// prolonged returns the last renewal before the contact by a client that was not
// responsible for the grant. It returns nil if the key would have existed even without such
// renewals.
func (rp *ages) prolonged(l *keyspace.Grant, m keyspace.Contact) *keyspace.Term {
	var last *keyspace.Term
	for i := l.TermCount() - 1; i > 0; i-- {
		t, before := l.Term(i), l.Term(i-1)
		gone := before.Mortal && before.Expiry.Hi < m.At.Lo
		if t.At.Lo > m.At.Lo || last != nil && !gone || !rp.unowned(t, l) {
			continue
		}
		if last == nil {
			last = t
		}
		if gone {
			return last
		}
	}
	return nil
}

// unowned reports whether the sender of a renewal was not responsible for the grant: the grant was another
// client's, or the sender no longer attended to its own grant when it sent the renewal. The time of sending
// counts, even if the renewal arrived late. unowned returns false in three cases, in which a client may
// have prolonged its own grant:
//
//   - The command put a grant on the key.
//   - The client was acquiring the lock again.
//   - Readers share the key, and the client is a reader that never learnt whether it was let in.
func (rp *ages) unowned(t *keyspace.Term, l *keyspace.Grant) bool {
	if t.Cmd < 0 || t.Cmd != l.Cmd && rp.enters(t.Cmd, l.Key, false) {
		return false
	}
	if p, ok := rp.Acquired(rp.Commands[t.Cmd].Op); ok && p.Done() == history.Info && compatible(l.Mode, p.Invoke.Mode) {
		return false
	}
	sent := rp.Commands[t.Cmd].Sent
	if _, asks := rp.Acquired(rp.Commands[t.Cmd].Op); asks && t.Client == l.Client && rp.openAt(rp.Commands[t.Cmd].Op, sent) {
		return false
	}
	return t.Client != l.Client || !rp.cared(l, keyspace.At(sent))
}

// enters reports whether the command at place pos put a grant on the key, for its own
// client or for another client. A share whose acquire was refused (Grant.Refused) does not count; if anew is
// true, a grant that relied on a value which was there before (Grant.Rested) does not count either.
func (rp *trial) enters(pos int, key string, anew bool) bool {
	return slices.ContainsFunc(rp.made[pos], func(g *keyspace.Grant) bool {
		return g.Key == key && !g.Refused && !(anew && g.Rested)
	})
}
