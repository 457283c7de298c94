package checker

import (
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// leftover is a key of a lock that a post-mortem found.
type leftover struct {
	blocks  bool // clients are kept out: on one node (leftOn), or on so many that none gets in (leftovers)
	forever bool // nothing will ever remove the key
	cause   Cause
	why     []account.Fact
	cmds    []int
	first   *keyspace.Grant // the grant that the key carries; nil if unknown
	// young: the key has a TTL and is not overdue (whyLeftOverdue), so it may still be deleted or
	// expire in time.
	young bool
	// atAnyPace: the key was left behind for a reason other than a timeout (Finding.atAnyPace).
	atAnyPace bool
	at        time.Duration // time of the post-mortem
}

// leftovers combines the last post-mortems of all nodes.
func (rp *blockages) leftovers(lock string, start time.Duration, waiting []int) leftover {
	last := rp.postMortems(start)
	stuck, atAnyPace := 0, true
	var found leftover
	for _, node := range slices.Sorted(maps.Keys(last)) {
		op := last[node]
		l := rp.leftOn(op, lock, start, waiting)
		if l.blocks {
			stuck++
			atAnyPace = atAnyPace && l.atAnyPace
		}
		if l.blocks && (!found.blocks || l.forever && !found.forever || found.young && !l.young) {
			l.at = found.at
			found = l
		}
		found.at = max(found.at, op.Time)
	}
	need := max(1, len(last)-rp.Claims.NodeQuorum()+1) // with so many nodes blocked, no quorum is left
	if rp.Claims.NodeQuorum() <= 1 {
		need = 1
	}
	found.blocks, found.atAnyPace = stuck >= need, atAnyPace
	return found
}

// postMortems returns the last post-mortem of each node at or after the time start.
func (rp *blockages) postMortems(start time.Duration) map[string]history.Op {
	last := map[string]history.Op{}
	for _, op := range rp.Ops {
		if op.Event(history.FKeys) && op.Time >= start {
			last[op.Node] = op
		}
	}
	return last
}

// reached reports whether a command of these clients' acquires reached the node at or after the
// time start. If none did, a key on the node cannot have kept these clients out.
func (rp *blockages) reached(node string, clients []int, start time.Duration) bool {
	return slices.ContainsFunc(rp.Commands, func(c history.Command) bool {
		_, isAcquire := rp.Acquired(c.Op)
		return isAcquire && c.Node == node && (c.Exec > 0 || c.Replied > 0) && max(c.Sent, c.Arrived) >= start && slices.Contains(clients, c.Client)
	})
}

// leftOn judges the post-mortem of one node for the waiting clients.
func (rp *blockages) leftOn(op history.Op, lock string, start time.Duration, waiting []int) leftover {
	if !rp.reached(op.Node, waiting, start) {
		return leftover{at: op.Time}
	}
	for _, k := range op.Keys {
		if k.Key != lock && !slices.Contains(rp.Holding(lock), k.Key) || rp.keyKeepsNobodyOut(op.Node, k.Key) {
			continue
		}
		l := rp.standing(op.Node, k.Key, op.Time)
		found := leftover{blocks: true, at: op.Time, first: l}
		left := account.Fact{Key: k.Key, Nodes: []string{op.Node}, At: op.Time}
		var because []account.Fact
		if l != nil {
			because, found.cmds = []account.Fact{rp.abandoned(l)}, []int{l.Cmd}
		}
		renewal := rp.lastUnowned(l, start, op.Time)
		switch last, hanging := rp.hangingOn(l, op.Time); {
		case hanging:
			found.forever, found.cause, found.atAnyPace = true, HungHolder, true
			left.What, left.Clients, left.Command, left.At = account.LeftHungOn, []int{l.Client}, rp.call(last.cmd), last.at
			since, _ := rp.hungUnder(l)
			left.Span = (last.at - since).Round(time.Millisecond)
			found.cmds = append(found.cmds, last.cmd)
		case rp.Claims.ClientClock: // the time in the key keeps others out, not the key's existence
			ahead, waits, ok := rp.clockAhead(l, waiting, op.Time)
			if !ok {
				continue
			}
			found.cause = ClientClock
			left.What, left.Clients, left.Offset = account.LeftTimeAhead, []int{l.Client, waits}, ahead
		case k.TTL < 0 && l != nil && rp.keptByClock(l, op.Time):
			x := rp.prolongedByClock(l, l.Last())
			found.cause = x.cause
			left = x.why
		case k.TTL < 0:
			found.forever, found.cause, found.atAnyPace = true, NoExpiry, rp.leftAtAnyPace(l)
			left.What = account.LeftImmortal
			if l != nil {
				if _, hangs := rp.hungUnder(l); hangs {
					left.What, left.Clients = account.LeftHung, []int{l.Client}
				}
			}
		case renewal != nil:
			found.forever, found.cause = true, ForeignRenewal
			found.atAnyPace = rp.leftAtAnyPace(l) && !rp.gaveUp(renewal.Client, lock)
			found.cmds = append(found.cmds, renewal.Cmd)
			left.What, left.Clients, left.Command, left.At = account.LeftKeptAlive, []int{renewal.Client}, rp.call(renewal.Cmd), renewal.At.Lo
		default:
			x := rp.whyLeftOverdue(l, op, k)
			found.cause, found.young = x.cause, x.cause == ""
			left.What, left.Span = account.LeftTooLong, k.TTL
			if x.why.What != "" {
				because = append(because, x.why)
			}
		}
		found.why = append([]account.Fact{left}, because...)
		return found
	}
	return leftover{at: op.Time}
}

// standing returns the grant that represents the key: the earliest grant that no client
// will give back any more, or else the latest grant. It returns nil if no grant can keep
// anybody out.
func (rp *blockages) standing(node, key string, now time.Duration) (on *keyspace.Grant) {
	for _, g := range rp.Grants {
		if g.Node != node || g.Key != key || g.End != nil || g.Over != nil || rp.is(g, idle) {
			continue
		}
		on = g
		if _, hangs := rp.hungUnder(g); hangs || !rp.cared(g, keyspace.At(now)) {
			return g
		}
	}
	return on
}

// leftAtAnyPace reports whether the grant was left behind for a reason other than a
// timeout: its owner crashed, or its owner was granted the lock and got every reply.
func (rp *blockages) leftAtAnyPace(l *keyspace.Grant) bool {
	if l == nil {
		return false
	}
	p, isAcquire := rp.Acquired(l.Op)
	switch {
	case !isAcquire:
		return false
	case p.Complete == nil:
		_, crashed := rp.Crashes[l.Client]
		return crashed
	case p.Complete.Type != history.OK || rp.unanswered(l.Op):
		return false
	}
	h := rp.hold(l)
	return h != nil && h.ToWhy == account.ByCrash || !rp.gaveUp(l.Client, l.Lock)
}

// gaveUp reports whether an operation of the client on the lock has an unknown outcome, or sent a
// command that got no reply, even if the lock reported an outcome.
func (rp *trial) gaveUp(client int, lock string) bool {
	return slices.ContainsFunc(rp.Pairing.All, func(p history.Pair) bool {
		return p.Invoke.Process != history.Nemesis && p.Invoke.Client == client && p.Invoke.Lock == lock &&
			p.Complete != nil && (p.Complete.Type == history.Info || rp.unanswered(p.Invoke.Index))
	})
}

// endless is the number of lease times after which a watchdog that still renews counts as endless. The
// watchdog in document D3 (see package documents) gives up earlier: its fourth and last renewal comes
// three lease times after the grant.
const endless = 4

// hangingOn reports whether the grant's owner hangs in its work for ever while its process keeps
// renewing the grant: the last renewal came at least four lease times (the constant endless) after
// the hang began, and the grant still keeps others out at the time now. last is the last renewal.
func (rp *blockages) hangingOn(l *keyspace.Grant, now time.Duration) (last keyWrite, hanging bool) {
	if l == nil {
		return last, false
	}
	since, hangs := rp.hungUnder(l)
	if h := rp.hold(l); !hangs || h.To <= now {
		return last, false
	}
	keeps := false
	if t := l.Last(); t.Cmd >= 0 && t.Client == l.Client {
		last = keyWrite{at: t.At.Lo, cmd: t.Cmd}
		keeps = !t.Mortal || t.Expiry.Hi >= now
	}
	// If the lease is stored in the value, writes to the key renew it.
	if t, found := rp.lastWrite(l, now); found && t.at > last.at {
		last, keeps = t, keeps || t.at >= now-rp.Claims.TTL
	}
	return last, keeps && rp.Commands[last.cmd].Sent > since && last.at-since >= endless*rp.Claims.TTL
}

// lastUnowned returns the last renewal, at or after the time start, by a client that was not
// responsible for the grant, if this renewal still keeps the key alive at the time now. It returns
// nil if there were fewer than two such renewals: a single one does not show that the renewals go on.
func (rp *blockages) lastUnowned(l *keyspace.Grant, start, now time.Duration) *keyspace.Term {
	if l == nil {
		return nil
	}
	n := 0
	var last *keyspace.Term
	for i, t := range l.Terms() {
		if i == 0 || t.At.Lo < start || t.Cmd < 0 || rp.Commands[t.Cmd].Op == l.Op || !rp.unowned(t, l) {
			continue
		}
		n++
		last = t
	}
	if n < 2 || last.Mortal && last.Expiry.Hi < now {
		return nil
	}
	return last
}
