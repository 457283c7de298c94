package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds the assumptions of leases that messages, nodes and clocks broke.

// lateness returns how long a command took to arrive, or how long its reply took after that,
// whichever is longer; 0 if the command did not arrive.
func (rp *premises) lateness(c history.Command) time.Duration {
	if c.Arrived == 0 {
		return 0
	}
	late := keyspace.Clip(c.Arrived) - keyspace.Clip(c.Sent)
	if c.Replied > 0 {
		late = max(late, keyspace.Clip(c.Replied)-keyspace.Clip(c.Arrived))
	}
	return late
}

// slowest returns the client's most delayed command that was sent between the two times.
// Delays that are not notable do not count.
func (rp *premises) slowest(client int, since, until time.Duration) (pos int, ok bool) {
	most := rp.notable()
	for i, c := range rp.Commands {
		if c.Client == client && since <= c.Sent && c.Sent <= until && rp.lateness(c) > most {
			pos, ok, most = i, true, rp.lateness(c)
		}
	}
	return pos, ok
}

// delay describes the delay of a command, on its way to the node or back.
func (rp *premises) delay(pos int) account.Fact {
	c := rp.Commands[pos]
	if keyspace.Clip(c.Arrived)-keyspace.Clip(c.Sent) >= rp.lateness(c) {
		return rp.arrival(pos)
	}
	return rp.message(account.AnsweredLate, pos)
}

func (rp *premises) arrival(pos int) account.Fact { return rp.message(account.ArrivedLate, pos) }

func (rp *premises) message(what account.What, pos int) account.Fact {
	c := rp.Commands[pos]
	return account.Fact{What: what, Clients: []int{c.Client}, Nodes: []string{c.Node}, Command: rp.call(pos)}
}

// unanswering describes why a command got no reply: it never arrived, it arrived too late, or its
// reply never came. It returns nil if the command was answered or its sender crashed.
func (rp *premises) unanswering(pos int) *account.Assumption {
	c := rp.Commands[pos]
	switch {
	case c.Replied > 0 || rp.CrashOf(c.Client) < Never:
		return nil
	case c.Arrived == 0 && c.Exec == 0:
		return &account.Assumption{Premise: account.Answered, But: rp.message(account.NeverArrived, pos)}
	case rp.lateness(c) > rp.notable():
		return &account.Assumption{Premise: account.InTime, But: rp.arrival(pos)}
	}
	return &account.Assumption{Premise: account.Answered, But: rp.message(account.NeverAnswered, pos)}
}

// forgotten explains why a node lacked acknowledged data.
func (rp *premises) forgotten(s suspicion) *account.Assumption {
	if e := s.first.End; e != nil && e.How == keyspace.Lost {
		if op, known := rp.event(e.Event); known {
			return rp.loses(op, s.first.Key)
		}
	}
	for _, p := range rp.SplitBrains {
		if (s.first.Node == p.Old || s.first.Node == p.Heir) && p.From < s.first.Seq && (p.Until == 0 || s.first.Seq < p.Until) {
			return &account.Assumption{Premise: account.OnePrimary, But: account.Fact{What: account.ServedBoth, Nodes: []string{p.Old, p.Heir}, Since: p.Since}}
		}
	}
	return rp.lastDataLoss(s.first, s.To)
}

// lastDataLoss finds the last event, up to the given time, in which the grant's node may have lost
// the key or another node took its place. Events more than one TTL before the grant do not count,
// unless the lock is reentrant.
func (rp *premises) lastDataLoss(l *keyspace.Grant, until time.Duration) *account.Assumption {
	since := l.At.Lo - rp.Claims.TTL
	if rp.Claims.Reentrant {
		since = 0 // a wrong count stays wrong as long as its key is used
	}
	for _, op := range slices.Backward(rp.Ops) {
		if since <= op.Time && op.Time <= until && rp.mayLoseKey(op, l.Node, l.Key) {
			return rp.loses(op, l.Key)
		}
	}
	return nil
}

// mayLoseKey reports whether the event may have made the node lose the key.
func (rp *premises) mayLoseKey(op history.Op, node, key string) bool {
	switch op.EventKind().Keys {
	case history.KeysReplaced: // in a Redis Cluster, only the keys of one shard are concerned
		return op.From == "" || op.From == node || op.Node == node
	case history.KeysRestored:
		return op.Node == node
	case history.KeysEvicted:
		return op.Node == node && slices.ContainsFunc(op.Keys, func(k history.KeyState) bool { return k.Key == key })
	}
	return false
}

// loss says how to report that nodes lost keys in one kind of event. The field ended is the kind of the fact
// that such an event ended a grant. The field but is the kind of the fact that contradicts the premise,
// which the event breaks.
type loss struct {
	ended   account.What
	premise account.Premise
	but     account.What
}

// losses describes the events by which nodes lose keys. Restarts are not among them: see lossOf.
var losses = map[string]loss{
	history.FEvict:   {account.EvictedUnder, account.NodeKeeps, account.EvictedKey},
	history.FSplit:   {account.SplitWithout, account.OnePrimary, account.ServedBeside},
	history.FPromote: {account.PromotedWithout, account.ReplicaHas, account.PromotedBehind},
}

func lossOf(op history.Op) loss {
	return cmp.Or(losses[op.F], loss{account.RestartedWith, account.NodeKeeps, account.RestartedAndLost})
}

// loses describes the data loss that the event caused.
func (rp *premises) loses(op history.Op, key string) *account.Assumption {
	l := lossOf(op)
	but := account.Fact{What: l.but, Nodes: []string{op.Node}, At: op.Time, Key: key}
	switch l.but {
	case account.ServedBeside:
		if old := rp.oldPrimary(op); old != "" {
			but.Nodes = append(but.Nodes, old)
		}
	case account.RestartedAndLost:
		back := rp.backUp(op)
		but.At, but.Lost = back.Time, back.Lost
	}
	return &account.Assumption{Premise: l.premise, But: but}
}

// backUp returns the event that brought the node up again after the given node-down event; if there
// is none, it returns the given event.
func (rp *premises) backUp(down history.Op) history.Op {
	for _, op := range rp.Ops {
		if op.Index >= down.Index && op.Event(history.FNodeUp) && op.Node == down.Node {
			return op
		}
	}
	return down
}

// oldPrimary returns the primary that stayed behind in the split that op began; "" if unknown.
func (rp *premises) oldPrimary(op history.Op) string {
	for _, p := range rp.SplitBrains {
		if p.Since == op.Time && p.Heir == op.Node {
			return p.Old
		}
	}
	return ""
}

// nodeClockWrong finds an error of the wall clock of the grant's node. The node's keys expire by this
// clock. The error is a jump, an offset, or a difference from the clock of the node that the key came from.
func (rp *premises) nodeClockWrong(s suspicion) *account.Assumption {
	clock := rp.NodeClocks[s.first.Node]
	fact := account.Fact{Nodes: []string{s.first.Node}}
	for _, jump := range clock.Jumps(s.To) {
		// A jump ahead ends a lease early. A later jump back, which sets the clock right, does not
		// replace it in the fact.
		if by := jump.Ahead; (by > 0 || fact.What == "") && jump.Since >= s.first.At.Lo {
			fact.What, fact.Offset, fact.At = account.NodeClockJumped, by.Round(time.Millisecond), jump.Since
		}
	}
	ahead := clock.Ahead(s.To)
	if fact.What == "" && ahead != 0 {
		fact.What, fact.Offset = account.NodeClockOff, ahead.Round(time.Millisecond)
	}
	if fact.What == "" { // the key came from a node with another clock
		for _, l := range rp.Of(s.first.Op) {
			if by := ahead - rp.NodeClocks[l.Node].Ahead(s.To); by != 0 {
				fact = account.Fact{What: account.NodeClocksApart, Nodes: []string{s.first.Node, l.Node}, Offset: by.Round(time.Millisecond)}
			}
		}
	}
	if fact.What == "" {
		return nil
	}
	return &account.Assumption{Premise: account.ClocksAgree, But: fact}
}

// clientClockWrong finds a client whose wall clock was off, or a clock reading that was old when it
// was used.
func (rp *premises) clientClockWrong(s suspicion) *account.Assumption {
	var fact account.Fact
	most := time.Duration(0)
	for _, pos := range s.cmds {
		s.Clients = append(slices.Clone(s.Clients), rp.Commands[pos].Client)
	}
	for _, op := range rp.Ops {
		concerned := op.Event(history.FClock) && op.Time <= s.To && slices.Contains(s.Clients, op.Client)
		if concerned && op.Offset.Abs() > most && rp.aheadUntil(op) >= s.From-max(rp.Claims.Recovery, rp.Claims.TTL)-op.Offset.Abs() {
			most = op.Offset.Abs()
			fact = account.Fact{What: account.ClientClockOff, Clients: []int{op.Client}, Offset: op.Offset.Round(time.Millisecond), At: op.Time}
		}
	}
	if fact.What != "" {
		return &account.Assumption{Premise: account.ClocksAgree, But: fact}
	}
	since := rp.asked(s.first)
	for _, c := range append([]int{s.first.Client}, s.Clients...) {
		if but, froze := rp.standstill(c, since, s.To, s.first.At.Lo); froze {
			return &account.Assumption{Premise: account.ReadingFresh, But: but}
		}
		if pos, ok := rp.slowest(c, since, s.To); ok {
			return &account.Assumption{Premise: account.ReadingFresh, But: rp.delay(pos)}
		}
	}
	return nil
}

// aheadUntil returns the time of the next event that set the same clock; the end of the
// trial if there is none.
func (rp *premises) aheadUntil(event history.Op) time.Duration {
	for _, o := range rp.Clocks[event.Client] {
		if o.Since > event.Time {
			return o.Since
		}
	}
	return rp.End
}

// counterLost explains how the fence counter was lost between two grants. It returns the commands
// that made the grants, and the broken assumption. The assumption is nil if no node event explains
// the loss: then the recipe counts wrongly.
func (rp *premises) counterLost(before, after fencedGrant) (cmds []int, broken *account.Assumption) {
	first, second := rp.lastOf(before.entry.Invoke.Index), rp.lastOf(after.entry.Invoke.Index)
	for _, pos := range []int{first, second} {
		cmds = append(cmds, rp.indexOf(pos)...)
	}
	slices.Sort(cmds)
	for _, op := range slices.Backward(rp.Ops) {
		if op.Time > after.entry.Complete.Time || op.Time < before.entry.Invoke.Time {
			continue
		}
		switch keys := op.EventKind().Keys; {
		case keys == history.KeysReplaced,
			keys == history.KeysRestored && (second < 0 || op.Node == rp.Commands[second].Node):
			return cmds, rp.loses(op, "")
		case keys == history.KeysEvicted:
			for _, k := range op.Keys {
				if second < 0 || rp.isCounter(before, k.Key) {
					return cmds, rp.loses(op, k.Key)
				}
			}
		}
	}
	return cmds, nil
}

// isCounter reports whether the grant's acquire wrote its fence to that key.
func (rp *premises) isCounter(g fencedGrant, key string) bool {
	return slices.ContainsFunc(rp.Of(g.entry.Invoke.Index), func(x *keyspace.Grant) bool {
		return x.Key == key && x.Wrote(fmt.Sprint(g.fence))
	})
}
