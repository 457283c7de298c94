package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/checker/internal/evidence"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds the causes that concern time. Examples are leases that ended by clients'
// clocks, keys that expired, and missing renewals.

// takenOver explains the end of a grant in a lock that judges by clients' clocks. The
// command at place pos ended the first party's grant because the sender of the command considered the
// grant stale.
//
// If the sender had last read the value of an older grant, the cause is a race. Otherwise the lease
// had really ended, a client's clock was wrong, or the first party's clock reading was old when it
// arrived. If none of these is true, the cause is a race too.
func (rp *endings) takenOver(first *keyspace.Grant, pos int) reason {
	c := rp.Commands[pos]
	at := rp.Ran(pos)
	cmds := []int{first.Cmd, pos}
	if seen, cmd, ok := rp.lookedAt(pos, first.Key); ok && !wrote(first, seen) {
		why := rp.deed(account.JudgedByOld, c.Client, pos, at.Lo, first)
		why.Read = rp.Ran(cmd).Lo
		return because(Race, append(cmds, cmd), why)
	}
	lease := rp.Claims.TTL
	limit := max(rp.Claims.Recovery, lease)
	slack := lease / 10
	lasted := at.Lo - first.At.Hi
	asked := first.At.Lo
	if p := rp.Operation(first.Op); rp.Has(first.Op) {
		asked = p.Invoke.Time
	}
	stale := first.At.Lo - asked
	ahead := rp.Clocks[first.Client].Ahead(asked)
	skew := rp.Clocks[c.Client].Ahead(at.Lo) - ahead
	if skew == 0 && rp.Has(c.Op) { // the sender may have read its clock before the clock was corrected
		skew = max(0, rp.Clocks[c.Client].Ahead(rp.Operation(c.Op).Invoke.Time)-ahead)
	}
	why := rp.deed(account.OldTakenOver, c.Client, pos, at.Lo, first)
	why.Age = lasted.Round(time.Millisecond)
	switch {
	case lasted >= limit-slack:
	case skew != 0:
		why.What, why.Offset = account.ClockAhead, skew
		return because(ClientClock, cmds, why)
	case lasted < lease-slack && lasted+stale >= lease, lasted >= lease-slack && lasted+stale >= limit && stale > slack:
		why.What, why.Span = account.TimeStale, stale.Round(time.Millisecond)
		return because(ClientClock, cmds, why)
	case lasted < lease-slack:
		why.What = account.YoungTakenOver
		return because(Race, cmds, why)
	}
	return because(LeaseOutlived, cmds, why)
}

// lookedAt finds the last command, up to place pos, with which the sender of the command at pos
// read the key in the same operation on the same node. It returns the value read and the reading
// command's place.
func (rp *endings) lookedAt(pos int, key string) (value string, cmd int, ok bool) {
	if rp.Commands[pos].Op < 0 {
		return "", -1, false
	}
	for _, i := range slices.Backward(rp.SentBy(rp.Commands[pos].Op)) {
		c := rp.Commands[i]
		if i > pos || c.Node != rp.Commands[pos].Node || len(c.Args) < 2 || string(c.Args[1]) != key {
			continue
		}
		if v, shown := text(string(c.Reply)); shown {
			return v, i, true
		}
	}
	return "", -1, false
}

// wrote reports whether the value belongs to the grant or to a grant in the chain of grants
// that overwrote it.
func wrote(g *keyspace.Grant, value string) bool {
	for n := 0; g != nil && n < 1000; g, n = g.Over, n+1 {
		if g.Wrote(value) {
			return true
		}
	}
	return false
}

// termSlack is the time by which rounding may shorten a lease.
const termSlack = 2 * time.Millisecond

// aged returns the age of the grant at that time: the true age, and the age by the wall clock of the
// grant's node. The age counts from the owner's last renewal or, if the owner never renewed, from the
// grant. The owner may have read the node's clock before it sent that command. Then the age by the clock
// counts from this reading, if that makes the age greater. A node that fell back to an older state has
// the lease as the owner had renewed it then.
func (rp *ages) aged(g *keyspace.Grant, at time.Duration) (really, byNode time.Duration) {
	since, by := g.At.Lo, g.Cmd
	for _, t := range g.Terms() {
		set := t.At.Lo
		if t.Event >= 0 && t.Cmd >= 0 {
			set = rp.Ran(t.Cmd).Lo
		}
		if t.Client == g.Client && t.At.Lo <= at && (set > since || t.Event >= 0) {
			since, by = max(g.At.Lo, set), t.Cmd
		}
	}
	if last, found := rp.lastWrite(g, at); found && last.at > since {
		since, by = last.at, last.cmd
	}
	really = at - since
	clock := rp.NodeClocks[g.Node]
	byNode = really + clock.Ahead(at) - clock.Ahead(since)
	if read, ok := rp.readTime(by, g.Node); ok {
		byNode = max(byNode, at-read+clock.Ahead(at)-clock.Ahead(read))
	}
	return really, byNode
}

// agedFor returns the ages of the grant as aged does, with one exception. The sender of the command at
// place pos may have read the node's clock earlier, and judged by that reading. If the grant's age by the
// clock was greater at the time of the reading, byNode is that age.
func (rp *ages) agedFor(g *keyspace.Grant, pos int, at time.Duration) (really, byNode time.Duration) {
	really, byNode = rp.aged(g, at)
	if read, ok := rp.readTime(pos, g.Node); ok {
		_, then := rp.aged(g, read)
		byNode = max(byNode, then)
	}
	return really, byNode
}

// lapsedByNode reports whether the grant's lease was over at that time by the wall clock of the
// grant's node.
func (rp *ages) lapsedByNode(g *keyspace.Grant, at time.Duration) bool {
	_, byNode := rp.aged(g, at)
	return byNode >= rp.Claims.TTL-termSlack
}

// lapsedFor is like lapsedByNode, for the command at place pos: it takes the age from agedFor.
func (rp *ages) lapsedFor(g *keyspace.Grant, pos int, at time.Duration) bool {
	_, byNode := rp.agedFor(g, pos, at)
	return byNode >= rp.Claims.TTL-termSlack
}

// tookOver explains a command that ended a grant whose lease had ended by its node's clock.
// Grants lapse like this in locks that keep times in values.
func (rp *endings) tookOver(first *keyspace.Grant, pos int) (reason, bool) {
	at := rp.Ran(pos)
	really, byNode := rp.agedFor(first, pos, at.Lo)
	c, cmds := rp.Commands[pos], []int{first.Cmd, pos}
	switch {
	// In a lock without a recovery time, grants do not lapse.
	case byNode < rp.Claims.TTL-termSlack, rp.Claims.Recovery == 0:
		return reason{}, false
	case really < rp.Claims.TTL-termSlack:
		why := rp.deed(account.NodeClockTook, c.Client, pos, at.Lo, first)
		why.Age = really.Round(time.Millisecond)
		return because(ServerClock, cmds, why), true
	}
	if r, lost := rp.prolongedInVain(first, at.Lo); lost {
		return r, true
	}
	if r, lost := rp.putOffElsewhere(first, pos); lost {
		return r, true
	}
	cause := LeaseOutlived
	if rp.Claims.Renews && !rp.frozen(first.Client, max(first.At.Lo, rp.lastWriteAt(first, at.Lo)), at.Lo) {
		cause = RenewalFailed // the owner was running, and its renewals failed
	}
	return because(cause, cmds, rp.deed(account.OldTakenOver, c.Client, pos, at.Lo, first)), true
}

// expiredUnder explains a key that expired while its owner believed that it held the lock.
func (rp *endings) expiredUnder(first, second *keyspace.Grant) reason {
	last := *first.Last()
	cmds := []int{first.Cmd, last.Cmd}
	granted := first.End.At.Hi
	if second != nil {
		granted = second.At.Hi
	}
	why := account.Fact{What: account.Expired, Clients: []int{first.Client}, Nodes: []string{first.Node}, Key: first.Key, At: first.End.At.Mid()}
	// last.Fair is when the key would have expired without a clock jump. If the key certainly expired
	// earlier, it suffices that the second grant may have come before last.Fair.
	if cut := last.Moved != 0 && first.End.At.Hi < last.Fair.Lo; last.Fair.Lo > granted || cut && last.Fair.Hi > granted {
		why.What, why.Until = account.ExpiredEarly, last.Fair.Mid()
		return because(ServerClock, cmds, why)
	}
	if r, ok := rp.elsewhere(first, granted); ok {
		return r
	}
	if r, ok := rp.bornShort(first, last); ok {
		return r
	}
	if r, forgot := rp.renewalLost(first, last, granted); forgot {
		return r
	}
	if own := ownLife(first); last.Client != first.Client && own != nil && (!own.Mortal || own.Fair.Lo > granted) && !rp.gaveFirst(first, last.Cmd) {
		return because(ForeignRenewal, cmds, rp.deed(account.LifeCutShort, last.Client, last.Cmd, last.At.Lo, first))
	}
	if rp.deadlineDelayed(first, granted) {
		why.What = account.DeadlineMoved
		return because(ClientClock, cmds, why)
	}
	if rp.Claims.Renews {
		if pos, ok := rp.foreclosed(first, last); ok {
			why.What, why.Command = account.ExpiredUnasked, rp.call(pos)
			return because(ServerClock, append(cmds, pos), why)
		}
		if r, failed := rp.unrenewed(first, last); failed {
			return r
		}
	}
	why.Age = (first.End.At.Mid() - last.At.Lo).Round(time.Millisecond)
	if asked, ok := rp.shortened(first, last, granted); ok {
		why.What, why.Until = account.ShortLife, asked+rp.Claims.TTL
		return because(ShortLease, cmds, why)
	}
	return because(LeaseOutlived, cmds, why)
}

// deadlineDelayed reports whether a change of the owner's wall clock delayed the owner's deadline beyond
// the key's end. granted is the time of the second party's grant. The result is true if both of these are
// true:
//
//   - The clock changed after the owner had asked for the lock, and no later than the second grant.
//   - At some instant after the key's end, and no later than the second grant, the changed clock showed a
//     time before the deadline. By the unchanged clock, the deadline would have passed.
func (rp *endings) deadlineDelayed(g *keyspace.Grant, granted time.Duration) bool {
	owner := rp.Operation(g.Op)
	deadline, asked := owner.Lease().Deadline, owner.Invoke.Time
	if deadline == 0 || owner.Lease().Monotonic || !rp.Clocks[g.Client].SetIn(asked, granted) {
		return false
	}
	ahead := rp.Clocks[g.Client].Ahead(asked)
	if c := owner.Complete; c != nil && deadline-ahead > c.Time+rp.Claims.TTL {
		ahead = rp.Clocks[g.Client].Ahead(c.Time) // the clock changed during the acquire, before the deadline was set by it
	}
	due := deadline - ahead
	return rp.Clocks[g.Client].Before(deadline, max(g.End.At.Hi, due), granted)
}

// shortened reports whether the owner's own command gave the key too short a TTL. It is true if the key
// ended, and the other party was granted the lock, before the end of the lease that the owner's operation
// had asked for. It is false for a lock that renews, since such a lock may choose short TTLs. asked is the
// time at which the operation began.
func (rp *endings) shortened(first *keyspace.Grant, last keyspace.Term, granted time.Duration) (asked time.Duration, short bool) {
	if rp.Claims.Renews || rp.Claims.TTL == 0 || last.Client != first.Client || last.Cmd < 0 || last.Moved != 0 || last.Most != 0 {
		return 0, false
	}
	op := rp.Commands[last.Cmd].Op
	if !rp.Has(op) {
		return 0, false
	}
	if gap, _ := rp.gap(first.Node, last.Client, last.At.Lo); gap > 0 {
		return 0, false // an expiry computed by the client's clock may come too early
	}
	if deadline := rp.Operation(op).Lease().Deadline; deadline != 0 && deadline <= last.Fair.Hi+termSlack {
		return 0, false // the owner knew that the lease was short
	}
	ends := rp.Operation(op).Invoke.Time + rp.Claims.TTL - termSlack
	return rp.Operation(op).Invoke.Time, last.Fair.Hi < ends && granted < ends
}

// ownLife returns the last term that the owner gave the grant; nil if there is none.
func ownLife(g *keyspace.Grant) (own *keyspace.Term) {
	for _, t := range g.Terms() {
		if t.Client == g.Client {
			own = t
		}
	}
	return own
}

// renewalLost explains a key that expired because its node had lost a renewal of the key.
func (rp *endings) renewalLost(first *keyspace.Grant, last keyspace.Term, granted time.Duration) (reason, bool) {
	for i, t := range first.Terms() {
		if i == first.TermCount()-1 {
			break
		}
		if last.Event < 0 || t.Cmd < 0 || t.At.Lo > last.At.Lo || t.Mortal && t.Fair.Lo <= granted {
			continue
		}
		op, _ := rp.event(last.Event)
		return because(ServerLostKey, []int{first.Cmd, t.Cmd}, account.Fact{
			What: account.RenewalLost, Nodes: []string{first.Node}, Clients: []int{t.Client}, Command: rp.call(t.Cmd), At: t.At.Lo,
			Since: op.Time, Key: first.Key, Until: first.End.At.Mid(),
		}), true
	}
	if last.Event >= 0 { // the key fell back to an older term, which had ended
		return rp.lostBy(first, &keyspace.End{Event: last.Event}), true
	}
	return reason{}, false
}

// event returns the entry with that index; false if there is none.
func (rp *trial) event(index int) (history.Op, bool) {
	if at := rp.Pairing.Place(index); at >= 0 {
		return rp.Ops[at], true
	}
	return history.Op{}, false
}

// elsewhere explains a key that expired on one of two primaries. On the other primary, the grant had
// not ended when the second party got its grant (at the time granted), or its end there was a loss.
func (rp *endings) elsewhere(first *keyspace.Grant, granted time.Duration) (reason, bool) {
	for l, p := range rp.onOtherPrimary(first, first.End.Seq, granted) {
		last := l.Last()
		return because(ServerLostKey, []int{first.Cmd, last.Cmd}, account.Fact{
			What: account.ExpiredApart, Nodes: []string{p.Old, p.Heir, l.Node, first.Node}, Since: p.Since,
			Key: first.Key, Clients: []int{last.Client}, At: first.End.At.Mid(),
		}), true
	}
	return reason{}, false
}

// foreclosed finds the owner's renewal that came too late only because the node's clock had jumped: without
// the jump the key would still have existed. A command that put the owner's value in the key may also count
// as a renewal.
func (rp *renewals) foreclosed(first *keyspace.Grant, last keyspace.Term) (int, bool) {
	if last.Moved >= 0 {
		return 0, false
	}
	for _, pos := range rp.renewing {
		c, at := rp.Commands[pos], rp.Ran(pos)
		if c.Client == first.Client && first.WasOn(c.Node) && c.Ran() && at.Lo >= first.End.At.Lo && at.Hi < last.Fair.Lo && rp.renews(pos, first) {
			return pos, true
		}
	}
	for _, t := range rp.keyWrites[keyWriter{first.Key, first.Client}] {
		if t.node == first.Node && first.End.At.Lo <= t.at && t.at < last.Fair.Lo && rp.toKeep(t.op, first) {
			return t.cmd, true
		}
	}
	return 0, false
}

// toKeep reports whether a write of the grant's owner, in the operation op, was to keep the grant alive: one of a
// watchdog or an extension, or an acquire by the lock's holder whose own release then removed the key. An acquire
// whose key ends in another way has begun a lease of its own.
func (rp *renewals) toKeep(op int, g *keyspace.Grant) bool {
	if op < 0 {
		return true
	}
	asked, h := rp.Operation(op).Invoke, rp.hold(g)
	if asked.F != history.FAcquire || h == nil || asked.Time <= h.From || h.To <= asked.Time {
		return asked.F == history.FExtend
	}
	return slices.ContainsFunc(rp.Of(op), func(inner *keyspace.Grant) bool {
		if inner.Key != g.Key || inner.Node != g.Node || inner.End == nil || inner.End.Cmd < 0 {
			return false
		}
		by := rp.Commands[inner.End.Cmd]
		return by.Client == g.Client && by.Op >= 0 && rp.Operation(by.Op).Invoke.F == history.FRelease
	})
}

// frozen reports whether a fault froze the client through the end of a lease. The lease ran from the
// time since to the time end, and the freeze must begin before that end. A freeze is a window of the
// nemesis on the client in which the client records and sends nothing. The window's fault must be
// one that pauses clients, or one whose effect is not recorded.
func (rp *trial) frozen(client int, since, end time.Duration) bool {
	for _, win := range rp.Windows {
		if f := win.Invoke.Window; f != nil && f.Effect != "" && f.Effect != history.Paused {
			continue
		}
		from, to := win.Invoke.Time, Never
		if win.Complete != nil {
			to = win.Complete.Time
		}
		if win.Invoke.Client != client || from >= end || to < end || to <= since {
			continue
		}
		if !rp.acted(client, evidence.Interval{From: from, To: to}) {
			return true
		}
	}
	return false
}
