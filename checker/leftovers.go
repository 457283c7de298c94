package checker

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// leftover is a key of a lock that a post-mortem found.
type leftover struct {
	blocks  bool // it is on so many nodes that nobody gets in
	forever bool
	cause   Cause
	why     []Fact
	cmds    []int
	first   *keyspace.Grant // the claim that it carries; nil if that is not known
	// young: it is no older than the recipe lets a lock become, so that its owner may be
	// about to give it back.
	young bool
	// atAnyPace: see Finding
	atAnyPace bool
	at        time.Duration // of the post-mortem
}

// leftovers reads the last post-mortem of every node.
func (w *wire) leftovers(lock string, start time.Duration, waiting []int) leftover {
	last := map[string]history.Op{}
	for _, op := range w.Ops {
		if op.F == history.FKeys && op.Process == history.Nemesis && op.Time >= start {
			last[op.Node] = op
		}
	}
	stuck, atAnyPace := 0, true
	var found leftover
	for _, op := range sortedByNode(last) {
		l := w.leftOn(op, lock, start, waiting)
		if l.blocks {
			stuck++
			atAnyPace = atAnyPace && l.atAnyPace
		}
		if l.blocks && (!found.blocks || l.forever && !found.forever || found.young && !l.young) {
			found = l
		}
		found.at = max(found.at, op.Time)
	}
	need := max(1, len(last)-w.Claims.NodeQuorum()+1) // so many nodes leave no quorum
	if w.Claims.NodeQuorum() <= 1 {
		need = 1
	}
	found.blocks, found.atAnyPace = stuck >= need, atAnyPace
	return found
}

func sortedByNode(byNode map[string]history.Op) []history.Op {
	var all []history.Op
	for _, op := range byNode {
		all = append(all, op)
	}
	slices.SortFunc(all, func(a, b history.Op) int { return cmp.Compare(a.Node, b.Node) })
	return all
}

// reached says whether an acquire of one of these clients came to the node. A key on the
// node keeps only such clients out.
func (w *wire) reached(node string, clients []int, start time.Duration) bool {
	return slices.ContainsFunc(w.Commands, func(c history.Command) bool {
		_, isAcquire := w.acquired(c.Op)
		return isAcquire && c.Node == node && (c.Exec > 0 || c.Replied > 0) && max(c.Sent, c.Arrived) >= start && slices.Contains(clients, c.Client)
	})
}

// leftOn reads the post-mortem of one node, for clients that wait.
func (w *wire) leftOn(op history.Op, lock string, start time.Duration, waiting []int) leftover {
	if !w.reached(op.Node, waiting, start) {
		return leftover{at: op.Time}
	}
	for _, k := range op.Keys {
		if k.Key != lock && !slices.Contains(w.Holding(lock), k.Key) || w.harmless(op.Node, k.Key) {
			continue
		}
		l := w.standing(op.Node, k.Key, op.Time)
		found := leftover{blocks: true, at: op.Time, first: l}
		left := Fact{Key: k.Key, Nodes: []string{op.Node}, At: op.Time}
		var because []Fact
		if l != nil {
			because, found.cmds = []Fact{w.abandoned(l)}, []int{l.Cmd}
		}
		switch renewal := w.lastUnowned(l, start, op.Time); {
		case w.Claims.ClientClock: // the time in the key keeps others out, not the key
			ahead, waits, ok := w.clockAhead(l, waiting, op.Time)
			if !ok {
				continue
			}
			found.cause = ClientClock
			left.What, left.Clients, left.Offset = leftTimeAhead, []int{l.Client, waits}, ahead
		case k.TTL < 0:
			found.forever, found.cause, found.atAnyPace = true, NoExpiry, w.leftAtAnyPace(l)
			left.What = leftImmortal
		case renewal != nil:
			found.forever, found.cause = true, ForeignRenewal
			found.atAnyPace = w.leftAtAnyPace(l) && !w.gaveUp(renewal.Client, lock)
			found.cmds = append(found.cmds, renewal.Cmd)
			left.What, left.Clients, left.Command, left.At = leftKeptAlive, []int{renewal.Client}, w.call(renewal.Cmd), renewal.At.Lo
		default:
			x := w.standingExcess(l, op, k)
			found.cause, found.young = x.cause, x.cause == ""
			left.What, left.Span = leftTooLong, k.TTL
			if x.cause == ServerClock {
				because = append(because, x.why)
			}
		}
		found.why = append([]Fact{left}, because...)
		return found
	}
	return leftover{at: op.Time}
}

// standing is the grant that the key is told by. It is the earliest grant that nobody sees
// to any more, else the latest grant; nil if no grant could keep anybody out.
func (w *wire) standing(node, key string, now time.Duration) (on *keyspace.Grant) {
	for _, g := range w.Grants {
		if g.Node != node || g.Key != key || g.End != nil || g.Over != nil || w.keepsNobodyOut(g) {
			continue
		}
		if on = g; !w.cared(g, keyspace.At(now)) {
			return g
		}
	}
	return on
}

// keepsNobodyOut says whether the grant is a share in a count that everybody may raise, or
// part of a record beside the lock.
func (w *wire) keepsNobodyOut(g *keyspace.Grant) bool { return w.isShared(g) || w.isRecord(g) }

// harmless says whether all grants that the key carries keep nobody out.
func (w *wire) harmless(node, key string) bool {
	any := false
	for _, g := range w.Grants {
		if g.Node == node && g.Key == key && g.End == nil && g.Over == nil {
			any = true
			if !w.keepsNobodyOut(g) {
				return false
			}
		}
	}
	return any
}

// leftAtAnyPace says whether the grant was left behind for another reason than a timeout: its
// owner crashed, or its owner was granted the lock and got every answer.
func (w *wire) leftAtAnyPace(l *keyspace.Grant) bool {
	if l == nil {
		return false
	}
	p, isAcquire := w.acquired(l.Op)
	switch {
	case !isAcquire:
		return false
	case p.Complete == nil:
		_, crashed := w.crashes[l.Client]
		return crashed
	case p.Complete.Type != history.OK || w.unanswered[l.Op]:
		return false
	}
	h := w.hold(l)
	return h != nil && h.ToWhy == ByCrash || !w.gaveUp(l.Client, l.Lock)
}

// gaveUp says whether an operation of the client on that lock ended unknown.
func (w *wire) gaveUp(client int, lock string) bool {
	return slices.ContainsFunc(w.pairing.all, func(p history.Pair) bool {
		return p.Invoke.Process != history.Nemesis && p.Invoke.Client == client && p.Invoke.Lock == lock &&
			p.Complete != nil && p.Complete.Type == history.Info
	})
}

// lastUnowned is the last renewal, since start, by a client that did not hold the lock. It
// is recent enough to keep the key alive. Nil if there were fewer than two: a single
// renewal may be the last.
func (w *wire) lastUnowned(l *keyspace.Grant, start, now time.Duration) *keyspace.Term {
	if l == nil {
		return nil
	}
	n := 0
	var last *keyspace.Term
	for i, t := range l.Lives() {
		if i == 0 || t.At.Lo < start || t.Cmd < 0 || w.Commands[t.Cmd].Op == l.Op || !w.unowned(t, l) {
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
