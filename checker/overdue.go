package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// excess is the reason why a grant is overdue: it still keeps others out, but no client
// believes that it holds the lock, and by the recipe's claims the grant should have ended.
// The zero value means that the grant is not overdue.
type excess struct {
	cause Cause
	why   Fact // zero if there is nothing to add
}

func (w *wire) excess(l *keyspace.Grant, m keyspace.Contact, client int) excess {
	if w.Claims.ClientClock {
		return w.staleTime(l, m.At.Lo, client)
	}
	t, now := l.TermAt(m.At.Lo), m.At.Lo
	if w.prolonged(l, m) != nil {
		return excess{} // the renewal explains it
	}
	claimed, over := w.outlived(t, now)
	over = over && now > w.seenTo(l, now)+claimed+claimed/10
	switch {
	case t.Most > 0 && now > t.Fair.Hi:
		return w.prolongedByClock(l, t)
	case !t.Mortal && over && w.keptByClock(l, now):
		return w.prolongedByClock(l, t)
	case !t.Mortal && (over || claimed == 0): // no recovery time: blame the key
		return excess{NoExpiry, Fact{What: immortal, Since: t.At.Lo}}
	case !over:
	case l.Copied && l.AnyLife(func(t *keyspace.Term) bool { return !t.Mortal }):
		return excess{NoExpiry, Fact{What: ttlUnheard, Until: t.Expiry.Mid(), Nodes: []string{l.Node}}}
	case givenTooLong(l, t, claimed):
		return excess{LongLease, Fact{What: givenTooMuch, Age: t.Given(), Span: claimed}}
	default:
		return excess{Unclassified, Fact{What: longerThanSaid, Span: claimed}}
	}
	return excess{}
}

// standingExcess judges a key that a post-mortem found, and the grant in the key; the
// grant is nil if unknown.
func (w *wire) standingExcess(l *keyspace.Grant, op history.Op, k history.KeyState) excess {
	claimed := w.Claims.Recovery
	over := k.TTL > claimed+claimed/10
	if l != nil {
		t := l.TermAt(op.Time)
		_, outlived := w.outlived(t, op.Time)
		over = over || outlived
		if t.Most > 0 && (over || op.Time > t.Fair.Hi) {
			return w.prolongedByClock(l, t)
		}
	}
	switch {
	case over && l != nil && givenTooLong(l, l.TermAt(op.Time), claimed):
		return excess{LongLease, Fact{What: givenTooMuch, Age: l.TermAt(op.Time).Given(), Span: claimed}}
	case over:
		return excess{cause: Unclassified}
	}
	return excess{}
}

// givenTooLong reports whether the grant's own client gave the key a TTL that is longer than
// the time that the recipe claims, by more than a tenth.
func givenTooLong(l *keyspace.Grant, t *keyspace.Term, claimed time.Duration) bool {
	return t.Client == l.Client && claimed > 0 && t.Given() > claimed+claimed/10
}

func (w *wire) prolongedByClock(l *keyspace.Grant, t *keyspace.Term) excess {
	until := t.Fair.Mid()
	if !t.Mortal {
		until = max(t.At.Lo, w.seenTo(l, Never)) + w.Claims.Recovery
	}
	return excess{ServerClock, Fact{What: clockSetBack, Nodes: []string{l.Node}, Key: l.Key, Until: until}}
}

// keptByClock reports whether a grant outlived the time that the recipe claims only because
// its node's clock jumped. That is so of locks that keep times of the node's clock in values:
// they ask the node for the time, and none of their keys ever had a TTL.
func (w *wire) keptByClock(l *keyspace.Grant, now time.Duration) bool {
	claimed := w.Claims.Recovery
	really, byNode := w.aged(l, now)
	if claimed == 0 || really <= claimed || byNode > claimed+claimed/10 || !keyspace.AsksTime(w.Commands) {
		return false
	}
	return !slices.ContainsFunc(w.Grants, func(g *keyspace.Grant) bool {
		return g.Lock == l.Lock && g.AnyLife(func(t *keyspace.Term) bool { return t.Mortal })
	})
}

// outlived reports whether a term has lasted longer than Claims.Recovery, by more than a
// tenth; 0 = no limit. It also returns that claimed time.
func (w *wire) outlived(t *keyspace.Term, now time.Duration) (claimed time.Duration, over bool) {
	claimed = w.Claims.Recovery
	return claimed, claimed > 0 && now > t.At.Hi+claimed+claimed/10
}

// staleTime judges a grant in a lock that judges by clients' clocks. The key holds a time
// of the owner's clock, and others compare it with their own clocks. If no clock was
// wrong, a client that met the grant late may have lost a race for it.
func (w *wire) staleTime(l *keyspace.Grant, now time.Duration, client int) excess {
	claimed := max(w.Claims.Recovery, w.Claims.TTL)
	late := now - l.At.Hi - claimed - claimed/10
	if ahead, _, ok := w.clockAhead(l, []int{client}, now); ok && 0 < late && late <= ahead {
		return excess{ClientClock, Fact{What: timeAhead, Clients: []int{l.Client, client}, Offset: ahead}}
	}
	return excess{}
}

// clockAhead compares the clock of the grant's owner, at the time when the owner read it,
// with the clocks of the waiting clients now. It returns the greatest lead of the owner's
// clock, and the client whose clock is that far behind.
func (w *wire) clockAhead(l *keyspace.Grant, waiting []int, now time.Duration) (ahead time.Duration, client int, ok bool) {
	if l == nil {
		return 0, 0, false
	}
	asked := l.At.Lo
	if p := w.operation(l.Op); w.has(l.Op) {
		asked = p.Invoke.Time
	}
	for _, c := range waiting {
		if by := w.aheadAt(l.Client, asked) - w.aheadAt(c, now); by > ahead {
			ahead, client, ok = by, c, true
		}
	}
	return ahead, client, ok
}
