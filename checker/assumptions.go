package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file names the assumption of leases that a trial broke. A lease is safe only if clients stop
// in time, messages arrive soon or never, nodes keep what they acknowledged, and clocks agree. The
// evidence alone shows which of these did not hold. If all of them held, the recipe itself is at
// fault.

// suspicion is a finding whose broken assumption is not known yet.
type suspicion struct {
	Finding
	// first is the grant that ended or was changed under its owner, or the grant that kept others out;
	// nil if unknown.
	first *keyspace.Grant
	cmds  []int // places in the log of the commands that show the finding
}

// breach returns the assumption of leases that broke in the trial of a finding, such as
// account.ClientStops; nil if every assumption held. The suspicion has a first grant.
type breach func(*premises, suspicion) *account.Assumption

// broken returns the assumption of leases that did not hold in the finding's trial; nil if all held or if
// no first grant is known.
func (rp *premises) broken(s suspicion) *account.Assumption {
	ask := s.Cause.row().breach
	if ask == nil || s.first == nil {
		return nil
	}
	return ask(rp, s)
}

// notable returns the shortest delay that is worth reporting.
func (rp *premises) notable() time.Duration { return max(rp.Claims.TTL/20, time.Millisecond) }

// overstayed explains why a holder worked on after its lease had ended.
func (rp *premises) overstayed(s suspicion) *account.Assumption {
	l := s.first
	ended := rp.lapsed(l)
	since := rp.asked(l)
	earliest := ended
	if l.End != nil && l.End.How == keyspace.Expired {
		earliest = min(ended, l.End.At.Lo)
	}
	h := rp.hold(l)
	// If the claimed deadline lies after the end of the lease, the deadline is to blame even if the
	// holder froze. With the right deadline, the holder would have seen on waking up that its lease
	// was over.
	if claimed := rp.claimed(h, s.To); claimed > ended+max(rp.Claims.TTL/100, time.Millisecond) {
		return &account.Assumption{Premise: account.CountsRight, But: account.Fact{
			What: account.ClaimedTooLong, Clients: []int{l.Client}, Until: within(rp.Evidence, claimed), Since: l.At.Mid(), At: ended,
		}}
	}
	// The freeze must cover the end of the lease: a running client could have seen that end.
	if but, froze := rp.standstill(l.Client, earliest, ended+1, ended); froze {
		return &account.Assumption{Premise: account.ClientStops, But: but}
	}
	if pos, ok := rp.slowest(l.Client, since, s.To); ok {
		return &account.Assumption{Premise: account.InTime, But: rp.delay(pos)}
	}
	on := account.Fact{What: account.WorkedOn, Clients: []int{l.Client}, Until: max(s.To, s.From), Since: l.At.Mid(), At: ended}
	if h != nil {
		on.Until = max(on.Until, within(rp.Evidence, h.To))
		if h.ToWhy == account.ByNothing {
			on.What = account.WorkedToEnd
		}
	}
	if _, hangs := rp.hungUnder(l); hangs && on.What == account.WorkedToEnd {
		on.What = account.HungToEnd
	}
	return &account.Assumption{Premise: account.ClientStops, But: on}
}

// claimed returns the latest deadline that the lock told the owner of the hold, not later than the time by.
// The result is on the history's clock; 0 if there was no deadline.
func (rp *premises) claimed(h *Hold, by time.Duration) (until time.Duration) {
	if h == nil {
		return 0
	}
	for i := rp.Pairing.Of[rp.Pairing.Place(h.Acquire)]; i < len(rp.Pairing.All); i++ {
		o := &rp.Pairing.All[i]
		if o.Invoke.Time > by {
			break
		}
		if o.Invoke.Client != h.Client || o.Invoke.Process == history.Nemesis || o.Invoke.Lock != h.Lock || o.Done() != history.OK || o.Complete.Time > by {
			continue
		}
		if lease := o.Lease(); lease.Deadline != 0 && (o.Invoke.F == history.FAcquire || o.Invoke.F == history.FExtend) {
			until = max(until, rp.Clocks[h.Client].Ends(lease, o.Invoke.Time))
		}
	}
	return until
}

// lapsed returns the time at which the lease behind the grant was over. If the key expired, that is
// the time of expiry. Otherwise it is the end of the claimed lease or, if that was earlier, the time
// at which the grant was overwritten or removed.
func (rp *trial) lapsed(l *keyspace.Grant) time.Duration {
	lease := l.At.Lo + rp.Claims.TTL
	switch {
	case l.End != nil && l.End.How == keyspace.Expired:
		return l.End.At.Mid()
	case l.Over != nil:
		return min(lease, l.Over.At.Lo)
	case l.End != nil:
		return min(lease, l.End.At.Lo)
	}
	return lease
}

// cutFromRenewing explains renewals that were missing or late.
func (rp *premises) cutFromRenewing(s suspicion) *account.Assumption {
	l := s.first
	until := max(rp.lapsed(l), l.At.Hi)
	for _, pos := range rp.renewing {
		c := rp.Commands[pos]
		if c.Client != l.Client || c.Sent < l.At.Lo || c.Sent > until || !rp.renews(pos, l) {
			continue
		}
		if broken := rp.unanswering(pos); broken != nil {
			return broken
		}
		if rp.lateness(c) > rp.notable() {
			return &account.Assumption{Premise: account.InTime, But: rp.delay(pos)}
		}
	}
	if but, froze := rp.standstill(l.Client, l.At.Lo, until, until); froze {
		return &account.Assumption{Premise: account.ClientRenews, But: but}
	}
	if broken := rp.lastDataLoss(l, until); broken != nil {
		return broken
	}
	return rp.struck(l, until)
}

// leftBehind explains why an owner did not remove its key: the owner was unable to, or did not know
// that it had a key.
func (rp *premises) leftBehind(s suspicion) *account.Assumption {
	l := s.first
	if at, crashed := rp.Crashes[l.Client]; crashed && at <= s.To {
		return &account.Assumption{Premise: account.ClientLives, But: account.Fact{What: account.HasCrashed, Clients: []int{l.Client}, At: at}}
	}
	if at, hangs := rp.hungUnder(l); hangs && at <= s.To {
		return &account.Assumption{Premise: account.WorkEnds, But: account.Fact{What: account.HasHung, Clients: []int{l.Client}, At: at}}
	}
	since := rp.asked(rp.oldest(l))
	if pos, ok := rp.firstLoss(l, since, s.To); ok {
		return rp.unanswering(pos)
	}
	if but, froze := rp.standstill(l.Client, since, s.To, s.From); froze {
		return &account.Assumption{Premise: account.ClientReturns, But: but}
	}
	if pos, ok := rp.slowest(l.Client, since, s.To); ok {
		return &account.Assumption{Premise: account.InTime, But: rp.delay(pos)}
	}
	if lost := rp.lastDataLoss(l, s.To); lost != nil {
		return lost
	}
	return rp.struck(l, s.To)
}

// asked returns when the acquire of the grant was invoked, or when the grant was made if that is
// earlier or the acquire is unknown.
func (rp *trial) asked(l *keyspace.Grant) time.Duration {
	if p := rp.Operation(l.Op); rp.Has(l.Op) {
		return min(l.At.Lo, p.Invoke.Time)
	}
	return l.At.Lo
}

// oldest returns the first grant of the chain that ends with l. The owner made all grants of the chain,
// each in the same place, where it overwrote the one before. A reentrant lock stays taken until the owner
// has released every acquire, so the trouble may have begun with the first grant.
func (rp *premises) oldest(l *keyspace.Grant) *keyspace.Grant {
	before := map[*keyspace.Grant]*keyspace.Grant{}
	for _, x := range rp.Grants {
		if o := x.Over; o != nil && o.Client == x.Client && o.Node == x.Node && o.Place == x.Place && (x.End == nil || x.OverSeq < x.End.Seq) {
			before[o] = x
		}
	}
	for n := len(rp.Grants); before[l] != nil && n > 0; n-- {
		l = before[l]
	}
	return l
}

// firstLoss returns the first unanswered command that the grant's owner sent between the two times
// and that concerned the grant's key. It prefers commands to the grant's node and, among these,
// commands that did not arrive.
func (rp *premises) firstLoss(l *keyspace.Grant, since, until time.Duration) (first int, ok bool) {
	best := 0
	for pos, c := range rp.Commands {
		if c.Client != l.Client || c.Sent < since || c.Sent > until || !rp.Reaches(pos, l.Key) || rp.unanswering(pos) == nil {
			continue
		}
		weight := 1
		if c.Node == l.Node {
			weight += 2
		}
		if c.Arrived == 0 {
			weight++
		}
		if weight > best {
			first, ok, best = pos, true, weight
		}
	}
	return first, ok
}

// late explains a command of an earlier attempt that ran late. Of the commands s.cmds, it blames the
// one that took longest to arrive and run.
func (rp *premises) late(s suspicion) *account.Assumption {
	latest := -1
	for _, pos := range s.cmds {
		if latest < 0 || rp.Ran(pos).Lo-rp.Commands[pos].Sent > rp.Ran(latest).Lo-rp.Commands[latest].Sent {
			latest = pos
		}
	}
	if latest < 0 {
		return nil
	}
	return &account.Assumption{Premise: account.InTime, But: rp.arrival(latest)}
}

// deletedAfter explains why a client deleted another client's key: the deleting command was
// delayed, or its sender did not know that its own grant had ended.
func (rp *premises) deletedAfter(s suspicion) *account.Assumption {
	if len(s.cmds) < 2 {
		return nil
	}
	pos := s.cmds[len(s.cmds)-1]
	c := rp.Commands[pos]
	if rp.Ran(pos).Lo-c.Sent > rp.notable() {
		return &account.Assumption{Premise: account.InTime, But: rp.arrival(pos)}
	}
	var own *keyspace.Grant
	for _, l := range rp.Grants {
		if l.Client == c.Client && l.Key == s.first.Key && l.Seq < s.first.Seq && (own == nil || own.Seq < l.Seq) {
			own = l
		}
	}
	if own == nil || own.End == nil || own.End.Seq > s.first.Seq {
		return nil
	}
	s.first = own
	s.From, s.To = rp.Ran(pos).Lo, rp.Ran(pos).Lo
	switch own.End.How {
	case keyspace.Expired:
		if last := own.Last(); last.Moved < 0 {
			return rp.nodeClockWrong(s)
		}
		return rp.overstayed(s)
	case keyspace.Lost:
		return rp.forgotten(s)
	}
	return nil
}

// standstill finds the client's longest freeze between the two times. Freezes that went on past the
// deadline take precedence. A freeze is a fault window on this client alone in which the client recorded
// nothing and sent nothing.
func (rp *premises) standstill(client int, since, until, deadline time.Duration) (fact account.Fact, froze bool) {
	var best evidence.Interval
	score := func(s evidence.Interval) (bool, time.Duration) {
		return s.To > deadline, min(s.To, until) - max(s.From, since)
	}
	for _, win := range rp.Windows {
		if win.Invoke.Client != client || win.Invoke.Window == nil || !targets(win.Invoke.Window, client) || win.Invoke.Window.Effect.Prolongs() {
			continue
		}
		s := evidence.Interval{From: win.Invoke.Time, To: rp.End}
		if win.Complete != nil {
			s.To = win.Complete.Time
		}
		if s.From >= until || s.To <= since || s.To-s.From <= rp.notable() || rp.CrashOf(client) <= s.To || rp.acted(client, s) {
			continue
		}
		over, long := score(s)
		wasOver, wasLong := score(best)
		if !froze || over && !wasOver || over == wasOver && long > wasLong {
			best, froze = s, true
			fact = account.Fact{What: account.WasFrozen, Clients: []int{client}, Since: s.From, Until: s.To, Fault: win.Invoke.Window.Fault}
		}
	}
	return fact, froze
}

// targets reports whether the window names the client as its only target, or names no target.
func targets(win *history.Window, client int) bool {
	switch len(win.Clients) + len(win.Nodes) + len(win.Links) {
	case 0:
		return true
	case 1:
		return slices.Contains(win.Clients, client)
	}
	return false
}

// acted reports whether the client recorded or sent anything within the interval.
func (rp *trial) acted(client int, s evidence.Interval) bool {
	for _, op := range rp.Ops {
		if op.Process != history.Nemesis && op.Client == client && s.From < op.Time && op.Time < s.To {
			return true
		}
	}
	for _, c := range rp.Commands {
		if c.Client == client && s.From < c.Sent && c.Sent < s.To {
			return true
		}
	}
	return false
}

// struck finds the first fault that was aimed at the grant's client, at the grant's node or at a link
// of that client, and was in force at some time after the grant and before the given time. Whether
// the fault hit anything does not matter. Faults that only prolong a client's work
// (FaultEffect.Prolongs) do not count.
func (rp *premises) struck(l *keyspace.Grant, until time.Duration) *account.Assumption {
	for _, win := range rp.Windows {
		over := win.Invoke.Window
		to := rp.End
		if win.Complete != nil {
			to = win.Complete.Time
		}
		if over == nil || win.Invoke.Time >= until || to <= l.At.Lo || over.Effect.Prolongs() {
			continue
		}
		if but := among(l, over); but.What != "" {
			but.Since, but.Until, but.Fault = win.Invoke.Time, to, over.Fault
			return &account.Assumption{Premise: account.Answered, But: but}
		}
	}
	return nil
}

// among returns the fact that names what the window's fault is aimed at: the grant's client, the
// grant's node or a link of that client. It returns the zero Fact if the fault is aimed at none of
// these.
func among(l *keyspace.Grant, win *history.Window) account.Fact {
	switch {
	case slices.Contains(win.Clients, l.Client):
		return account.Fact{What: account.WasStruck, Clients: []int{l.Client}}
	case slices.Contains(win.Nodes, l.Node):
		return account.Fact{What: account.WasStruck, Nodes: []string{l.Node}}
	}
	for _, link := range win.Links {
		if c, ok := link.Client(); ok && c == l.Client {
			return account.Fact{What: account.WasStruck, Clients: []int{c}, Link: &link}
		}
	}
	return account.Fact{}
}
