package checker

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// excess is why a claim still keeps others out though nobody believes in it and the recipe
// says that it is over by now. The zero excess: the claim is not overdue.
type excess struct {
	cause Cause
	why   Fact // zero if there is no more to tell
}

// excess judges a claim that was met by a client.
func (w *wire) excess(l *keyspace.Grant, m keyspace.Contact, client int) excess {
	if w.Claims.ClientClock {
		return w.staleTime(l, m.At.Lo, client)
	}
	t, now := l.TermAt(m.At.Lo), m.At.Lo
	if w.prolonged(l, m) != nil {
		return excess{} // the renewal tells who did it
	}
	claimed, over := w.outlived(t, now)
	over = over && now > w.seenTo(l, now)+claimed+claimed/10
	switch {
	case t.Most > 0 && now > t.Fair.Hi:
		return w.prolongedByClock(l, t)
	case !t.Mortal && (over || claimed == 0): // where nothing is promised, it is the key that lasts
		return excess{NoExpiry, Fact{What: immortal, Since: t.At.Lo}}
	case !over:
	case l.Copied && l.AnyLife(func(t *keyspace.Term) bool { return !t.Mortal }):
		return excess{NoExpiry, Fact{What: ttlUnheard, Until: t.Expiry.Mid(), Nodes: []string{l.Node}}}
	default:
		return excess{Unclassified, Fact{What: longerThanSaid, Span: claimed}}
	}
	return excess{}
}

// standingExcess judges a key that a post-mortem found, and the claim that the key carries;
// the claim is nil if it is not known.
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
	if over {
		return excess{cause: Unclassified}
	}
	return excess{}
}

func (w *wire) prolongedByClock(l *keyspace.Grant, t *keyspace.Term) excess {
	return excess{ServerClock, Fact{What: clockSetBack, Nodes: []string{l.Node}, Key: l.Key, Until: t.Fair.Mid()}}
}

// outlived says whether a claim has lasted longer than Claims.Recovery (0 = for ever) since
// its owner last saw to it. A server's slowness does not count.
func (w *wire) outlived(t *keyspace.Term, now time.Duration) (claimed time.Duration, over bool) {
	claimed = w.Claims.Recovery
	return claimed, claimed > 0 && now > t.At.Hi+claimed+claimed/10
}

// staleTime judges a claim in a lock that clients' clocks decide. The key has a time by the
// owner's clock, and keeps the others out by comparison with their clocks. If no clock was
// wrong, a client that met the claim late may have lost a race for it.
func (w *wire) staleTime(l *keyspace.Grant, now time.Duration, client int) excess {
	claimed := max(w.Claims.Recovery, w.Claims.TTL)
	late := now - l.At.Hi - claimed - claimed/10
	if ahead, _, ok := w.clockAhead(l, []int{client}, now); ok && 0 < late && late <= ahead {
		return excess{ClientClock, Fact{What: timeAhead, Clients: []int{l.Client, client}, Offset: ahead}}
	}
	return excess{}
}

// clockAhead compares the wall clock of the claim's owner, as it was when the owner read the
// time, with the clocks of the clients that wait now. It returns the greatest lead of the
// owner's clock, and the client whose clock it led by that much.
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
