package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// leftover is what a post-mortem found of a lock.
type leftover struct {
	blocks  bool // so many nodes that nobody gets in
	forever bool
	cause   Cause
	why     string
	cmds    []int
	first   *keyspace.Grant // whose claim it carries; nil if that is not known
	// young: it is no older than the recipe's locks may be, so that its owner may
	// just be giving it back.
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

// reached says whether an acquire of one of these clients came to the node: who never did
// was not kept out by what is there.
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
		if k.Key != lock && !slices.Contains(w.Holding(lock), k.Key) || w.sharesOnly(op.Node, k.Key) {
			continue
		}
		l, owner := w.standing(op.Node, k.Key, op.Time), ""
		found := leftover{blocks: true, at: op.Time, first: l}
		if l != nil {
			owner, found.cmds = ": "+w.abandoned(l), []int{l.Cmd}
		}
		switch renewal := w.lastUnowned(l, start, op.Time); {
		case w.Claims.ClientClock: // it is not the key that keeps others out but the time in it
			ahead, waits, ok := w.clockAhead(l, waiting, op.Time)
			if !ok {
				continue
			}
			found.cause = ClientClock
			found.why = fmt.Sprintf("%s on %s holds a time of c%d's wall clock, which was %v ahead of c%d's%s", k.Key, op.Node, l.Client, ahead, waits, owner)
		case k.TTL < 0:
			found.forever, found.cause, found.atAnyPace = true, NoExpiry, w.leftAtAnyPace(l)
			found.why = fmt.Sprintf("%s on %s has no TTL and no living owner%s", k.Key, op.Node, owner)
		case renewal != nil:
			found.forever, found.cause = true, ForeignRenewal
			found.atAnyPace = w.leftAtAnyPace(l) && !w.gaveUp(renewal.Client, lock)
			found.cmds = append(found.cmds, renewal.Cmd)
			found.why = fmt.Sprintf("c%d, which does not hold it, keeps %s on %s alive with %s, last at %s%s",
				renewal.Client, k.Key, op.Node, w.name(renewal.Cmd), seconds(renewal.At.Lo), owner)
		default:
			x := w.standingExcess(l, op, k)
			found.cause, found.young = x.cause, x.cause == ""
			found.why = fmt.Sprintf("%s on %s has still %v to live at %s, longer than the recipe claims%s", k.Key, op.Node, k.TTL, seconds(op.Time), owner)
			if x.cause == ServerClock {
				found.why += "; " + x.why
			}
		}
		return found
	}
	return leftover{at: op.Time}
}

// standing is the grant on which the key rests: the earliest of those that nobody sees to
// any more, else the latest; nil if there is none that could keep anybody out.
func (w *wire) standing(node, key string, now time.Duration) (on *keyspace.Grant) {
	for _, g := range w.Grants {
		if g.Node != node || g.Key != key || g.End != nil || g.Over != nil || w.isShared(g) {
			continue
		}
		if on = g; !w.cared(g, keyspace.At(now)) {
			return g
		}
	}
	return on
}

// sharesOnly says whether all that the key carries are shares in counts that keep nobody
// out.
func (w *wire) sharesOnly(node, key string) bool {
	any := false
	for _, g := range w.Grants {
		if g.Node == node && g.Key == key && g.End == nil && g.Over == nil {
			any = true
			if !w.isShared(g) {
				return false
			}
		}
	}
	return any
}

// leftAtAnyPace says whether the claim was left where it is by no want of time: its owner
// crashed over it, or was granted it and always got an answer.
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

// lastUnowned is the last renewal by a client that did not hold the lock,
// since start and so recent that it keeps the key alive; nil if there is none,
// or only one: that may be the last.
func (w *wire) lastUnowned(l *keyspace.Grant, start, now time.Duration) *keyspace.Term {
	if l == nil {
		return nil
	}
	n := 0
	var last *keyspace.Term
	for i, t := range l.Terms {
		if i == 0 || t.At.Lo < start || t.Cmd < 0 || w.Commands[t.Cmd].Op == l.Op || !w.unowned(&t, l) {
			continue
		}
		n++
		last = &l.Terms[i]
	}
	if n < 2 || last.Mortal && last.Expiry.Hi < now {
		return nil
	}
	return last
}
