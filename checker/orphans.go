package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// orphanage finds the keys that nobody attends to.
type orphanage struct{ *premises }

// orphan describes how the keys of one abandoned operation kept others out for one cause.
type orphan struct {
	op int
	reason
	grants []*keyspace.Grant
	first  keyspace.Contact // the contact of the first client that was kept out
	since  time.Duration    // when the orphan first kept a client out, for this or another cause
	last   keyspace.Contact
	kept   []int // the clients that were kept out
	ops    []int // for each of these clients: its first attempt that was kept out
	cmds   []int // places of the commands with which these attempts met the key
	// renewed is a renewal by a client without a hold. The key kept others out during the
	// time that this renewal added.
	renewed *keyspace.Term
	// superseded: the key kept others out for this cause first, and later for another cause.
	superseded bool
}

// orphans finds the orphans that kept other clients out until the orphans expired or were taken over: see
// "blocked up to TTL" at liveness.
//
// An attempt of another client counts if all of these are true:
//
//   - The attempt was not granted while the orphan existed.
//   - Orphans, and nothing else, refused the attempt on enough nodes to deny it a quorum. Together with
//     the nodes that granted the attempt, these nodes make up a quorum.
//   - No living client believed that it held the lock when the orphans refused the attempt.
//   - If the attempt's outcome is unknown, all its commands were answered.
//
// An orphan does not count if its own client deleted it in the end, or if another client's release or a
// node's loss of data removed it before it could expire.
func (rp *orphanage) orphans() []Finding {
	byOp := map[int][]keyspace.Contact{}
	var ops []int
	for _, m := range rp.Contacts {
		op := rp.Commands[m.Cmd].Op
		if _, isAcquire := rp.Acquired(op); !isAcquire {
			continue
		}
		if byOp[op] == nil {
			ops = append(ops, op)
		}
		byOp[op] = append(byOp[op], m)
	}
	slices.Sort(ops)
	type subject struct {
		op     int
		handed *keyspace.Grant // the grant, if it was handed to a client that did not wait; else nil
	}
	found := map[subject][]*orphan{}
	var order []*orphan
	for _, op := range ops {
		for _, b := range rp.keptOutBy(op, byOp[op]) {
			x := rp.whyOverdue(b.grant, b.contact, rp.Operation(op).Invoke.Client)
			of := subject{op: b.of}
			if b.of < 0 {
				of.handed = b.grant
			}
			all := found[of]
			at := slices.IndexFunc(all, func(o *orphan) bool { return o.cause == x.cause })
			if at < 0 {
				o := &orphan{op: b.of, first: b.contact, since: b.contact.At.Lo, reason: x}
				for _, earlier := range all {
					earlier.superseded, o.since = true, min(o.since, earlier.since)
				}
				at, order = len(all), append(order, o)
				all = append(all, o)
				found[of] = all
			}
			all[at].add(rp, op, b)
		}
	}
	var findings []Finding
	for _, o := range order {
		if o.cause != NoExpiry || !rp.takenInTime(o) {
			findings = append(findings, rp.orphaned(o))
		}
	}
	return findings
}

// takenInTime reports whether the orphan was taken over less than Claims.Recovery after it first kept a
// client out. If so, the missing TTL is not to blame: a lock
// that takes over keys without a TTL stores the end of the lease in the value, and clients waited
// for that end. A place in a queue may be kept for longer than a lease, since a client may have to wait that
// long: it is enough that others removed it. With a quorum above 1, takenInTime returns false: other keys
// of the lock may still be there.
func (rp *orphanage) takenInTime(o *orphan) bool {
	until, ended := o.end()
	return rp.Quorum() <= 1 && ended == account.WasTakenOver && (until-o.since < rp.Claims.Recovery || rp.onlyQueued(o.grants))
}

// onlyQueued reports whether all these grants are places in queues.
func (rp *places) onlyQueued(grants []*keyspace.Grant) bool {
	return !slices.ContainsFunc(grants, func(g *keyspace.Grant) bool { return !rp.is(g, queue) })
}

// blocker is one orphan that an attempt met.
type blocker struct {
	of      int // the operation whose grant became the orphan; negative if no operation made the grant
	grant   *keyspace.Grant
	contact keyspace.Contact
}

// keptOutBy lists the orphans that kept the attempt out. The list is empty if the attempt
// was let in, or if anything other than orphans kept it out.
func (rp *orphanage) keptOutBy(op int, met []keyspace.Contact) []blocker {
	p := rp.Operation(op)
	if p.Done() == history.Info && rp.unanswered(op) {
		return nil // the attempt may have failed because of a missing reply
	}
	var blockers []blocker
	units, own, in := map[keyspace.NodeKey]bool{}, map[keyspace.NodeKey]int{}, map[keyspace.NodeKey]int{}
	for _, g := range rp.Of(op) {
		if g.Handed {
			continue // another client handed the lock to this client after the attempt
		}
		own[rp.UnitOf(g.NodeKey())] = g.Seq
		in[g.NodeKey()] = g.Seq // another key of that node may still have refused the attempt
	}
	for _, m := range met {
		// One contact with orphans is enough for each unit. A contact does not count if the attempt
		// already had its own grant in the key: by then it may have been let in.
		node, key := rp.Commands[m.Cmd].Node, m.On[0].Key
		at := rp.UnitOf(keyspace.NodeKey{Node: node, Key: key})
		if seq, ok := in[keyspace.NodeKey{Node: node, Key: key}]; units[at] || ok && seq < m.Seq || rp.believes(p.Invoke.Lock, p.Invoke.Mode, m.At.Lo, p.Invoke.Client) {
			continue
		}
		if here := rp.orphansIn(m, p); len(here) > 0 {
			units[at] = true
			blockers = append(blockers, here...)
			delete(own, at)
		}
	}
	if quorum := rp.Quorum(); len(units)+len(own) < quorum || len(units) < rp.units-quorum+1 && quorum > 1 {
		return nil
	}
	return blockers
}

// orphansIn lists the orphans that an acquire met in one key. The list is empty if
// something else in the key may have kept the acquire out.
func (rp *orphanage) orphansIn(m keyspace.Contact, p *history.Pair) (here []blocker) {
	for _, g := range m.On {
		if compatible(g.Mode, p.Invoke.Mode) || g.Op == p.Invoke.Index || rp.is(g, idle) || idleBeside(g, m) || rp.lapsedBeside(g, m, p) {
			continue
		}
		// If a client got in while the grant still stood, the grant did not keep this client out.
		besideIt := p.Done() == history.OK && (g.End == nil || g.End.At.Hi > p.Complete.Time)
		if !rp.orphanAt(g, m) || !rp.outlasted(g, p.Invoke.Index) || besideIt {
			return nil
		}
		here = append(here, blocker{of: g.Op, grant: g, contact: m})
	}
	return here
}

// lapsedBeside reports whether nobody attended to the grant any more and it had lapsed by its node's clock,
// while another place of the key had a grant that had not lapsed and whose mode excludes the acquire's.
func (rp *orphanage) lapsedBeside(g *keyspace.Grant, m keyspace.Contact, p *history.Pair) bool {
	return g.Place != "" && rp.lapsedByNode(g, m.At.Lo) && !rp.cared(g, m.At) && slices.ContainsFunc(m.On, func(other *keyspace.Grant) bool {
		return other.Place != g.Place && !compatible(other.Mode, p.Invoke.Mode) && !rp.lapsedByNode(other, m.At.Lo)
	})
}

// countUnits counts the nodes to which clients sent commands. For a quorum of keys, it
// counts the keys that ever carried a grant.
func (rp *trial) countUnits() int {
	units := map[keyspace.NodeKey]bool{}
	if rp.Claims.KeyQuorum() > 1 {
		for _, g := range rp.Grants {
			units[g.NodeKey()] = true
		}
		return len(units)
	}
	for _, c := range rp.Commands {
		units[keyspace.NodeKey{Node: c.Node}] = true
	}
	return len(units)
}

// orphanAt reports whether the grant was an orphan at the contact: its owner did not attend to it,
// or the owner's acquire was still open when the key expired. A grant is no orphan if a release left
// it in place on purpose, if it was handed to a client that took it up, if its key was due to expire,
// or if it is the entry of a waiting client.
func (rp *orphanage) orphanAt(l *keyspace.Grant, m keyspace.Contact) bool {
	if _, isAcquire := rp.Acquired(l.Op); !isAcquire && l.Over != nil && l.Over.Rested {
		return false // a release left the value to let the next client in
	}
	if rp.pickedUp(l) {
		return false
	}
	if l.Lock == "" || l.End != nil && l.End.At.Hi <= m.At.Lo {
		return false
	}
	if l.End != nil && l.End.How == keyspace.Expired && rp.openAt(l.Op, l.End.At.Hi) && l.Last().Moved >= 0 {
		return true // the owner waited for the whole TTL, which no clock jump had shortened
	}
	if t := l.TermAt(m.At.Lo); t.Mortal && m.At.Lo >= t.Expiry.Lo+t.Most-t.Moved {
		return false // the key was due to expire; Redis deletes it slightly later
	}
	return !rp.cared(l, m.At) && !rp.rests(l, m.At.Lo) && !rp.waitsFor(l, m.At)
}

// pickedUp reports whether the grant was handed to a client that asked for the lock before the
// grant ended, and that then believed that it held the lock.
func (rp *places) pickedUp(g *keyspace.Grant) bool {
	if !g.Handed {
		return false
	}
	until := Never
	if g.Over != nil && g.Over.Client != g.Client {
		until = g.Over.At.Lo
	}
	if g.End != nil {
		until = min(until, g.End.At.Hi)
	}
	return slices.ContainsFunc(rp.Holds, func(h Hold) bool {
		op, _ := rp.Invocation(h.Acquire)
		return h.Client == g.Client && h.Lock == g.Lock && g.At.Lo <= h.From && rp.Operation(op).Invoke.Time <= until
	})
}

// cared reports whether the owner attended to its grant at that time: the owner was alive, and was
// acquiring the lock, believed that it held the lock, or was releasing the lock.
func (rp *trial) cared(l *keyspace.Grant, at keyspace.When) bool {
	for _, t := range []time.Duration{at.Lo, at.Hi} {
		if rp.Attends(l.Client, l.Lock, t) || rp.openAt(l.Op, t) && t < rp.CrashOf(l.Client) {
			return true
		}
	}
	return false
}

// outlasted reports whether the grant expired, was taken over by another acquire, or did not end. A
// grant that did not end counts only if it has a TTL, or if the lock judges by clients' clocks. A
// takeover counts only if the attempt op was not granted the lock: otherwise this attempt may itself
// have taken over the grant.
func (rp *orphanage) outlasted(g *keyspace.Grant, op int) bool {
	granted := rp.Operation(op).Done() == history.OK
	switch {
	case g.Over != nil && g.Over.Client != g.Client:
		_, takeover := rp.Acquired(g.Over.Op)
		return takeover && !granted && g.Over.Op != op
	case g.End == nil:
		// If the trial was broken off, a missing end proves nothing: with more time, the
		// owner might have removed its key.
		return (g.Last().Mortal || rp.Claims.ClientClock) && !rp.broke
	case g.End.How == keyspace.Expired:
		return true
	case g.End.How == keyspace.Deleted && g.End.Cmd >= 0:
		c := rp.Commands[g.End.Cmd]
		_, takeover := rp.Acquired(c.Op)
		if rp.reaped(g, g.End.Cmd, g.End.At.Lo) {
			return true // a reaper removed the grant, which counts as expiry
		}
		return takeover && !granted && c.Client != g.Client && c.Op != op
	}
	return false
}

func (o *orphan) add(rp *orphanage, op int, b blocker) {
	o.last = b.contact
	client := rp.Operation(op).Invoke.Client
	if !slices.Contains(o.kept, client) {
		o.kept = append(o.kept, client)
		o.ops = append(o.ops, op)
		o.cmds = append(o.cmds, b.contact.Cmd)
	}
	if !slices.Contains(o.grants, b.grant) {
		o.grants = append(o.grants, b.grant)
	}
	if t := rp.prolonged(b.grant, b.contact); t != nil && !rp.Claims.ClientClock {
		o.renewed = t
	}
}

func (rp *orphanage) orphaned(o *orphan) Finding {
	l := o.grants[0]
	until, ended := o.end()
	slices.Sort(o.kept)
	f := Finding{
		Cause: cmp.Or(o.cause, OrphanedKey), Lock: l.Lock, Clients: append([]int{l.Client}, o.kept...), From: o.first.At.Lo, To: max(o.first.At.Lo, within(rp.Evidence, until)),
		Ops: indices(append(rp.entries(o.op), rp.entries(o.ops...)...)...), Commands: rp.indexOf(append([]int{l.Cmd}, o.cmds...)...),
	}
	f.Account = account.Account{
		Fact:    account.Fact{What: account.OrphanKeptOut, Key: l.Key, Nodes: []string{l.Node}, Clients: f.Clients, At: o.first.At.Lo, Ended: ended, Until: until},
		Grants:  rp.grants(o.grants...),
		Reasons: []account.Fact{rp.abandoned(l)},
	}
	if o.why.What != "" {
		f.Account.Reasons = append(f.Account.Reasons, o.why)
	}
	if o.renewed != nil {
		f.Cause = ForeignRenewal
		f.Commands = rp.indexOf(append([]int{l.Cmd, o.renewed.Cmd}, o.cmds...)...)
		f.Account.Reasons = append(f.Account.Reasons, account.Fact{
			What: account.KeptAlive, Clients: []int{o.renewed.Client}, Command: rp.call(o.renewed.Cmd), At: o.renewed.At.Lo,
		})
	}
	f.Account.Broken = rp.broken(suspicion{f, l, []int{l.Cmd}})
	return f
}

// end returns when and how the orphan stopped keeping others out for its cause.
func (o *orphan) end() (until time.Duration, ended account.Ending) {
	until, ended = o.last.At.Hi, account.WasLeft
	if o.superseded {
		return until, account.WasOverdue
	}
	for _, x := range o.grants {
		switch {
		case x.End != nil && x.End.How == keyspace.Expired:
			until, ended = max(until, x.End.At.Mid()), account.WasExpired
		case x.Over != nil:
			until, ended = max(until, x.Over.At.Lo), account.WasTakenOver
		case x.End != nil:
			until, ended = max(until, x.End.At.Lo), account.WasTakenOver
		}
	}
	return until, ended
}

// abandoned returns the reason why the grant's owner no longer attends to it.
func (rp *orphanage) abandoned(l *keyspace.Grant) account.Fact {
	p, isAcquire := rp.Acquired(l.Op)
	fact := account.Fact{What: account.SetBy, Clients: []int{l.Client}, Command: rp.call(l.Cmd), At: l.At.Lo, Key: l.Key, Nodes: []string{l.Node}}
	crash, crashed := rp.Crashes[l.Client]
	switch {
	case l.Handed:
		fact.What, fact.Clients = account.SetFor, []int{rp.Commands[l.Cmd].Client, l.Client}
		return fact
	case !isAcquire:
		return fact
	case rp.rests(l, rp.End):
		left, _ := rp.lastByRelease(l, rp.End)
		fact.What, fact.Until = account.SetAndLeft, rp.Ran(left).Lo
		return fact
	case crashed && (p.Complete == nil || p.Complete.Type == history.OK):
		fact.What, fact.Until = account.SetThenCrashed, crash
		return fact
	case p.Complete == nil:
		fact.What = account.SetUnended
		return fact
	}
	if since, hangs := rp.hungUnder(l); hangs {
		fact.What, fact.Until = account.SetThenHung, since
		return fact
	}
	fact.Until = p.Complete.Time
	switch {
	case l.End != nil && p.Complete.Time > l.End.At.Hi:
		fact.What = account.SetMeanwhile
	case p.Complete.Type == history.OK:
		fact.What = account.SetUnreleased
	case l.At.Lo > p.Complete.Time:
		fact.What = account.SetAfterwards
	case p.Complete.Type == history.Info:
		fact.What = account.SetUnknown
	default:
		fact.What = account.SetInVain
	}
	return fact
}
