package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file tells the causes that are about time. Examples are leases that clients' clocks
// ended, keys that expired, and renewals that did not come.

// takenOver explains the end of a claim in a lock that clients' clocks decide. The command
// at that place ended the first party's claim, because its sender took it for stale.
//
// The cause is a race if the sender had looked at an older claim and not at this one. If it
// had looked at this one, somebody's clock was wrong, or the first party's reading was old
// when it arrived, or the lease had really been overrun.
func (w *wire) takenOver(first *keyspace.Grant, pos int) reason {
	c := w.Commands[pos]
	at := w.Ran(pos)
	cmds := []int{first.Cmd, pos}
	if seen, cmd, ok := w.lookedAt(pos, first.Key); ok && !wrote(first, seen) {
		why := w.deed(judgedByOld, c.Client, pos, at.Lo, first)
		why.Read = w.Ran(cmd).Lo
		return because(Race, append(cmds, cmd), why)
	}
	lease := w.Claims.TTL
	limit := max(w.Claims.Recovery, lease)
	slack := lease / 10
	lasted := at.Lo - first.At.Hi
	asked := first.At.Lo
	if p := w.operation(first.Op); w.has(first.Op) {
		asked = p.Invoke.Time
	}
	stale := first.At.Lo - asked
	skew := w.aheadAt(c.Client, at.Lo) - w.aheadAt(first.Client, asked)
	why := w.deed(oldTakenOver, c.Client, pos, at.Lo, first)
	why.Age = lasted.Round(time.Millisecond)
	switch {
	case lasted >= limit-slack:
	case skew != 0:
		why.What, why.Offset = clockAhead, skew
		return because(ClientClock, cmds, why)
	case lasted < lease-slack && lasted+stale >= lease, lasted >= lease-slack && lasted+stale >= limit && stale > slack:
		why.What, why.Span = timeStale, stale.Round(time.Millisecond)
		return because(ClientClock, cmds, why)
	case lasted < lease-slack:
		why.What = youngTakenOver
		return because(Race, cmds, why)
	}
	return because(LeaseOutlived, cmds, why)
}

// lookedAt is the value of the key that the sender of the command at that place had read
// last, in the same operation.
func (w *wire) lookedAt(pos int, key string) (value string, cmd int, ok bool) {
	op := w.Commands[pos].Op
	for i := pos; i >= 0 && op >= 0; i-- {
		c := w.Commands[i]
		if c.Client != w.Commands[pos].Client || c.Node != w.Commands[pos].Node {
			continue
		}
		if c.Op != op {
			break
		}
		if len(c.Args) < 2 || string(c.Args[1]) != key {
			continue
		}
		if v, shown := text(string(c.Reply)); shown {
			return v, i, true
		}
	}
	return "", -1, false
}

// wrote says whether the value belongs to the grant, or to a later grant that overwrote it
// though its owner was not granted the lock.
func wrote(g *keyspace.Grant, value string) bool {
	for n := 0; g != nil && n < 1000; g, n = g.Over, n+1 {
		if g.Wrote(value) {
			return true
		}
	}
	return false
}

// termSlack is how much rounding may shorten a lease.
const termSlack = 2 * time.Millisecond

// aged is how old the grant was at that time, counted since its owner last saw to it: the
// true age, and the age by its node's wall clock.
func (w *wire) aged(g *keyspace.Grant, at time.Duration) (really, byNode time.Duration) {
	since := g.At.Lo
	for _, t := range g.Lives() {
		if t.Client == g.Client && t.At.Lo <= at {
			since = max(since, t.At.Lo)
		}
	}
	since = max(since, w.seenTo(g, at))
	really = at - since
	return really, really + w.nodeAhead(g.Node, at) - w.nodeAhead(g.Node, since)
}

// nodeAhead is by how much the node's wall clock was ahead at that time.
func (w *wire) nodeAhead(node string, at time.Duration) (ahead time.Duration) {
	for _, o := range w.nodeClocks[node] {
		if o.since <= at {
			ahead = o.ahead
		}
	}
	return ahead
}

// lapsedByNode says whether the grant was as old as its lease by its node's clock.
func (w *wire) lapsedByNode(g *keyspace.Grant, at time.Duration) bool {
	_, byNode := w.aged(g, at)
	return byNode >= w.Claims.TTL-termSlack
}

// tookOver tells of an acquire, at that place, that ended a grant whose lease was over by
// its node's clock. A lock that keeps its times in values lets grants lapse in this way.
func (w *wire) tookOver(first *keyspace.Grant, pos int) (reason, bool) {
	at := w.Ran(pos)
	really, byNode := w.aged(first, at.Lo)
	c, cmds := w.Commands[pos], []int{first.Cmd, pos}
	switch {
	case byNode < w.Claims.TTL-termSlack, w.Claims.Recovery == 0: // such a lock lets nothing lapse
		return reason{}, false
	case really < w.Claims.TTL-termSlack:
		why := w.deed(nodeClockTook, c.Client, pos, at.Lo, first)
		why.Age = really.Round(time.Millisecond)
		return because(ServerClock, cmds, why), true
	}
	cause := LeaseOutlived
	if w.Claims.Renews && !w.frozen(first.Client, max(first.At.Lo, w.seenTo(first, at.Lo)), at.Lo) {
		cause = RenewalFailed // its owner ran, and sent renewals that did not come
	}
	return because(cause, cmds, w.deed(oldTakenOver, c.Client, pos, at.Lo, first)), true
}

// expiredUnder explains a key whose life ended while its owner believed.
func (w *wire) expiredUnder(first, second *keyspace.Grant) reason {
	last := *first.Last()
	cmds := []int{first.Cmd, last.Cmd}
	granted := first.End.At.Hi
	if second != nil {
		granted = second.At.Hi
	}
	owner := w.operation(first.Op)
	why := Fact{What: expired, Clients: []int{first.Client}, Nodes: []string{first.Node}, Key: first.Key, At: first.End.At.Mid()}
	// A clock that was a little ahead is seen by where the key ended: that the grant
	// came before its fair end may be within the doubt about that.
	if cut := last.Moved != 0 && first.End.At.Hi < last.Fair.Lo; last.Fair.Lo > granted || cut && last.Fair.Hi > granted {
		why.What, why.Until = expiredEarly, last.Fair.Mid()
		return because(ServerClock, cmds, why)
	}
	if r, ok := w.elsewhere(first, granted); ok {
		return r
	}
	if r, ok := w.bornShort(first, last); ok {
		return r
	}
	if r, forgot := w.renewalLost(first, last, granted); forgot {
		return r
	}
	if last.Client != first.Client && first.AnyLife(func(t *keyspace.Term) bool {
		return t.Client == first.Client && (!t.Mortal || t.Fair.Lo > granted)
	}) {
		return because(ForeignRenewal, cmds, w.deed(lifeCutShort, last.Client, last.Cmd, last.At.Lo, first))
	}
	if leaseOf(owner).Deadline != 0 && w.steppedIn(first.Client, owner.Invoke.Time, granted) {
		why.What = deadlineMoved
		return because(ClientClock, cmds, why)
	}
	if w.Claims.Renews {
		if pos, ok := w.foreclosed(first, last); ok {
			why.What, why.Command = expiredUnasked, w.call(pos)
			return because(ServerClock, append(cmds, pos), why)
		}
		if r, failed := w.unrenewed(first, last); failed {
			return r
		}
	}
	why.Age = (first.End.At.Mid() - last.At.Lo).Round(time.Millisecond)
	return because(LeaseOutlived, cmds, why)
}

// renewalLost tells of a node that had forgotten the renewal of the key.
func (w *wire) renewalLost(first *keyspace.Grant, last keyspace.Term, granted time.Duration) (reason, bool) {
	for i, t := range first.Lives() {
		if i == first.LifeCount()-1 {
			break
		}
		if last.Event < 0 || t.Cmd < 0 || t.At.Lo > last.At.Lo || t.Mortal && t.Fair.Lo <= granted {
			continue
		}
		op, _ := w.event(last.Event)
		return because(ServerLostKey, []int{first.Cmd, t.Cmd}, Fact{
			What: renewalLost, Nodes: []string{first.Node}, Clients: []int{t.Client}, Command: w.call(t.Cmd), At: t.At.Lo,
			Since: op.Time, Key: first.Key, Until: first.End.At.Mid(),
		}), true
	}
	if last.Event >= 0 { // the key had an older life again, and that was over
		return w.lostBy(first, &keyspace.End{Event: last.Event}), true
	}
	return reason{}, false
}

// event is the history's entry of that index.
func (w *wire) event(index int) (history.Op, bool) {
	if at := w.pairing.place(index); at >= 0 {
		return w.Ops[at], true
	}
	return history.Op{}, false
}

// elsewhere tells of a key that expired on one of two primaries. On the other it was
// renewed and lived on, or it was released.
func (w *wire) elsewhere(first *keyspace.Grant, granted time.Duration) (reason, bool) {
	for _, l := range w.Of(first.Op) {
		p := w.Parted(first.Node, l.Node, first.End.Seq)
		if p == nil || l.Key != first.Key || l.Place != first.Place || l.End != nil && l.End.How != keyspace.Lost && l.End.At.Lo <= granted {
			continue
		}
		last := l.Last()
		return because(ServerLostKey, []int{first.Cmd, last.Cmd}, Fact{
			What: expiredApart, Nodes: []string{p.Old, p.Heir, l.Node, first.Node}, Since: p.Since,
			Key: first.Key, Clients: []int{last.Client}, At: first.End.At.Mid(),
		}), true
	}
	return reason{}, false
}

// foreclosed finds a renewal by the owner that came too late only because the node's clock
// had jumped. Without the jump the key would still have been there.
func (w *wire) foreclosed(first *keyspace.Grant, last keyspace.Term) (int, bool) {
	if last.Moved >= 0 {
		return 0, false
	}
	for _, pos := range w.renewals() {
		c, at := w.Commands[pos], w.Ran(pos)
		if c.Client == first.Client && first.WasOn(c.Node) && c.Ran() && at.Lo >= first.End.At.Lo && at.Hi < last.Fair.Lo && w.renews(pos, first) {
			return pos, true
		}
	}
	return 0, false
}

// unrenewed tells how the watchdog failed its owner. The watchdog did not fail if the owner
// heard of its grant too late, or was frozen when a renewal was due.
func (w *wire) unrenewed(first *keyspace.Grant, last keyspace.Term) (reason, bool) {
	due := first.End.At
	if h := w.hold(first); h == nil || h.From >= due.Lo {
		return reason{}, false
	}
	cmds := []int{first.Cmd, last.Cmd}
	failed := func(what What, renewals ...int) (reason, bool) {
		why := Fact{
			What: what, Clients: []int{first.Client}, Nodes: []string{first.Node}, Key: first.Key,
			Since: last.At.Lo, At: due.Mid(),
		}
		if len(renewals) > 0 {
			why.Command = w.call(renewals[0])
		}
		return because(RenewalFailed, append(cmds, renewals...), why), true
	}
	var tardy []int
	for _, pos := range w.renewals() {
		c := w.Commands[pos]
		if c.Client != first.Client || !first.WasOn(c.Node) || c.Op == first.Op ||
			c.Sent < w.sent(last) || c.Sent > due.Hi || !w.renews(pos, first) {
			continue
		}
		switch {
		case c.Arrived == 0 && c.Exec == 0 && c.Replied == 0:
			return failed(renewalUnheard, pos)
		case c.Arrived > due.Lo || c.Replied > due.Lo:
			tardy = append(tardy, pos)
		case c.Replied == 0:
			return failed(renewalNoAnswer, pos)
		case len(w.Effects[pos]) == 0 && !stoodAt(first, w.Ran(pos).Lo):
			return failed(renewalRefused, pos)
		}
	}
	switch {
	case w.frozen(first.Client, last.At.Hi, due.Lo):
		return reason{}, false
	case len(tardy) > 0:
		return failed(renewalTardy, tardy...)
	}
	return failed(renewalMissing)
}

// sent is when the command of that life was sent.
func (w *wire) sent(t keyspace.Term) time.Duration {
	if t.Cmd < 0 {
		return t.At.Lo
	}
	return w.Commands[t.Cmd].Sent
}

// stoodAt says whether the grant was there at that time, overwritten or not.
func stoodAt(g *keyspace.Grant, at time.Duration) bool {
	return g.At.Lo <= at && (g.End == nil || at < g.End.At.Lo)
}

// renewals are the places of the commands that only prolong a key's life, arrived or not:
// EXPIRE and its like, and scripts outside of acquires and releases that only change lives.
func (w *wire) renewals() []int {
	if w.renewing != nil {
		return w.renewing
	}
	w.renewing = []int{}
	does := w.scriptDeeds()
	for pos, c := range w.Commands {
		if len(c.Args) < 2 {
			continue
		}
		d := deeds{prolongs: expires[strings.ToUpper(string(c.Args[0]))]}
		if sha, ok := c.Script(); ok {
			d = does[sha]
			kept := c.Op < 0 || w.operation(c.Op).Invoke.F == history.FExtend
			d.prolongs = d.prolongs || kept
		} else if !d.prolongs {
			d = w.deedsOf(pos)
		}
		if d.prolongs && !d.more {
			w.renewing = append(w.renewing, pos)
		}
	}
	return w.renewing
}

// expires are the commands that set lives.
var expires = map[string]bool{"EXPIRE": true, "PEXPIRE": true, "EXPIREAT": true, "PEXPIREAT": true}

// deeds are the effects that a command was seen to have on keys.
type deeds struct {
	prolongs bool // it set the life of a key and left its value
	more     bool
}

// deedsOf are the deeds of the command at that place.
func (w *wire) deedsOf(pos int) (d deeds) {
	for _, i := range w.Effects[pos] {
		c := w.Evidence.Keys[i]
		same := c.Before.SameValue(c.After)
		d.prolongs, d.more = d.prolongs || same, d.more || !same
	}
	return d
}

// scriptDeeds are the deeds of scripts in the whole trial, by SHA-1.
func (w *wire) scriptDeeds() map[string]deeds {
	all := map[string]deeds{}
	for pos, c := range w.Commands {
		if sha, ok := c.Script(); ok {
			d, was := w.deedsOf(pos), all[sha]
			all[sha] = deeds{d.prolongs || was.prolongs, d.more || was.more}
		}
	}
	return all
}

// renews says whether the renewal at that place renews this grant: the grant's owner sent it
// for the grant's key.
func (w *wire) renews(pos int, g *keyspace.Grant) bool {
	return w.Reaches(pos, g.Key) && w.Commands[pos].Client == g.Client
}

// frozen says whether the client stood still under a fault of its own until the end of a
// lease that was given at since. It must have stood still before a renewal was due: the
// nemesis had a window open on the client, and within the window the client recorded
// nothing and sent nothing.
func (w *wire) frozen(client int, since, end time.Duration) bool {
	for _, win := range w.windows {
		from, to := win.Invoke.Time, Never
		if win.Complete != nil {
			to = win.Complete.Time
		}
		if win.Invoke.Client != client || from >= end || to < end || to <= since {
			continue
		}
		inside := func(t time.Duration) bool { return from < t && t < to }
		moved := slices.ContainsFunc(w.Ops, func(op history.Op) bool {
			return op.Process != history.Nemesis && op.Client == client && inside(op.Time)
		}) || slices.ContainsFunc(w.Commands, func(c history.Command) bool {
			return c.Client == client && inside(c.Sent)
		})
		if !moved {
			return true
		}
	}
	return false
}
