package checker

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/keyspace"
)

// This file finds the assumptions of leases that messages, nodes and clocks broke.

// lateness returns the longer of the times that a command took to arrive and to be
// answered.
func (w *wire) lateness(c history.Command) time.Duration {
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
func (w *wire) slowest(client int, since, until time.Duration) (pos int, ok bool) {
	most := w.notable()
	for i, c := range w.Commands {
		if c.Client == client && since <= c.Sent && c.Sent <= until && w.lateness(c) > most {
			pos, ok, most = i, true, w.lateness(c)
		}
	}
	return pos, ok
}

// delay describes the delay of a command, on its way to the node or back.
func (w *wire) delay(pos int) Fact {
	c := w.Commands[pos]
	if keyspace.Clip(c.Arrived)-keyspace.Clip(c.Sent) >= w.lateness(c) {
		return w.arrival(pos)
	}
	return w.message(answeredLate, pos)
}

func (w *wire) arrival(pos int) Fact { return w.message(arrivedLate, pos) }

func (w *wire) message(what What, pos int) Fact {
	c := w.Commands[pos]
	return Fact{What: what, Clients: []int{c.Client}, Nodes: []string{c.Node}, Command: w.call(pos)}
}

// unanswering describes a command that did not arrive, arrived too late, or got no reply.
// It returns nil if the command was answered or its sender crashed.
func (w *wire) unanswering(pos int) *Assumption {
	c := w.Commands[pos]
	switch {
	case c.Replied > 0 || w.crashOf(c.Client) < Never:
		return nil
	case c.Arrived == 0 && c.Exec == 0:
		return &Assumption{Answered, w.message(neverArrived, pos)}
	case w.lateness(c) > w.notable():
		return &Assumption{InTime, w.arrival(pos)}
	}
	return &Assumption{Answered, w.message(neverAnswered, pos)}
}

// forgotten explains a node that lacked acknowledged data.
func (w *wire) forgotten(s suspicion) *Assumption {
	if s.first == nil {
		return nil
	}
	if e := s.first.End; e != nil && e.How == keyspace.Lost {
		for _, op := range w.Ops {
			if op.Index == e.Event {
				return w.loses(op, s.first.Key)
			}
		}
	}
	for _, p := range w.Partings {
		if (s.first.Node == p.Old || s.first.Node == p.Heir) && p.From < s.first.Seq && (p.Until == 0 || s.first.Seq < p.Until) {
			return &Assumption{OnePrimary, Fact{What: servedBoth, Nodes: []string{p.Old, p.Heir}, Since: p.Since}}
		}
	}
	return w.upheaval(s.first, s.To)
}

// upheaval finds the last event, up to that time, in which the grant's node lost data or
// another node took its place. Events more than one TTL before the grant do not count,
// unless the lock is reentrant.
func (w *wire) upheaval(l *keyspace.Grant, until time.Duration) *Assumption {
	since := l.At.Lo - w.Claims.TTL
	if w.Claims.Reentrant {
		since = 0 // a wrong count stays wrong as long as its key is used
	}
	for _, op := range slices.Backward(w.Ops) {
		if since <= op.Time && op.Time <= until && w.mayLoseKey(op, l.Node, l.Key) {
			return w.loses(op, l.Key)
		}
	}
	return nil
}

// mayLoseKey reports whether the event may have made the node lose that key.
func (w *wire) mayLoseKey(op history.Op, node, key string) bool {
	if op.Process != history.Nemesis || op.Window != nil {
		return false
	}
	switch op.F {
	case history.FPromote, history.FSplit: // in a Cluster: of its shard only
		return op.From == "" || op.From == node || op.Node == node
	case history.FNodeUp:
		return op.Node == node
	case history.FEvict:
		return op.Node == node && slices.ContainsFunc(op.Keys, func(k history.KeyState) bool { return k.Key == key })
	}
	return false
}

// loses describes the data loss that the event caused.
func (w *wire) loses(op history.Op, key string) *Assumption {
	but := Fact{Nodes: []string{op.Node}, At: op.Time, Key: key}
	switch op.F {
	case history.FEvict:
		but.What = evictedKey
		return &Assumption{NodeKeeps, but}
	case history.FSplit:
		but.What = servedBeside
		if old := w.oldPrimary(op); old != "" {
			but.Nodes = append(but.Nodes, old)
		}
		return &Assumption{OnePrimary, but}
	case history.FPromote:
		but.What = promotedBehind
		return &Assumption{ReplicaHas, but}
	}
	back := w.backUp(op)
	but.What, but.At, but.Lost = restartedAndLost, back.Time, back.Lost
	return &Assumption{NodeKeeps, but}
}

// backUp returns the event in which the node came back, or down itself if no return was
// seen.
func (w *wire) backUp(down history.Op) history.Op {
	for _, op := range w.Ops {
		if op.Index >= down.Index && op.F == history.FNodeUp && op.Process == history.Nemesis && op.Node == down.Node {
			return op
		}
	}
	return down
}

// oldPrimary returns the primary that the split of that event left behind; "" if unknown.
func (w *wire) oldPrimary(op history.Op) string {
	for _, p := range w.Partings {
		if p.Since == op.Time && p.Heir == op.Node {
			return p.Old
		}
	}
	return ""
}

// nodeClockWrong finds a jump of the wall clock of the grant's node, by which its keys
// expire.
func (w *wire) nodeClockWrong(s suspicion) *Assumption {
	if s.first == nil {
		return nil
	}
	ahead := map[string]time.Duration{}
	told := Fact{Nodes: []string{s.first.Node}}
	for _, op := range w.Ops {
		if op.F != history.FNodeClock || op.Process != history.Nemesis || op.Window != nil || op.Time > s.To {
			continue
		}
		by := op.Offset - ahead[op.Node]
		ahead[op.Node] = op.Offset
		// A jump ahead ends a lease early. Setting the clock right again does not.
		if by != 0 && (by > 0 || told.What == "") && op.Node == s.first.Node && op.Time >= s.first.At.Lo {
			told.What, told.Offset, told.At = nodeClockJumped, by.Round(time.Millisecond), op.Time
		}
	}
	if by := ahead[s.first.Node]; told.What == "" && by != 0 {
		told.What, told.Offset = nodeClockOff, by.Round(time.Millisecond)
	}
	if told.What == "" { // the key came from a node with another clock
		for _, l := range w.Of(s.first.Op) {
			if by := ahead[s.first.Node] - ahead[l.Node]; by != 0 {
				told = Fact{What: nodeClocksApart, Nodes: []string{s.first.Node, l.Node}, Offset: by.Round(time.Millisecond)}
			}
		}
	}
	if told.What == "" {
		return nil
	}
	return &Assumption{ClocksAgree, told}
}

// clientClockWrong finds clients whose wall clocks differed, or a clock reading that was
// old when it was used.
func (w *wire) clientClockWrong(s suspicion) *Assumption {
	var told Fact
	most := time.Duration(0)
	for _, pos := range s.cmds {
		s.Clients = append(slices.Clone(s.Clients), w.Commands[pos].Client)
	}
	for _, op := range w.Ops {
		concerned := op.F == history.FClock && op.Process == history.Nemesis && op.Window == nil &&
			op.Time <= s.To && slices.Contains(s.Clients, op.Client)
		if concerned && op.Offset.Abs() > most && w.aheadUntil(op) >= s.From-max(w.Claims.Recovery, w.Claims.TTL)-op.Offset.Abs() {
			most = op.Offset.Abs()
			told = Fact{What: clientClockOff, Clients: []int{op.Client}, Offset: op.Offset.Round(time.Millisecond), At: op.Time}
		}
	}
	switch {
	case told.What != "":
		return &Assumption{ClocksAgree, told}
	case s.first == nil:
		return nil
	}
	since := w.asked(s.first)
	for _, c := range append([]int{s.first.Client}, s.Clients...) {
		if but, froze := w.standstill(c, since, s.To, s.first.At.Lo); froze {
			return &Assumption{ReadingFresh, but}
		}
		if pos, ok := w.slowest(c, since, s.To); ok {
			return &Assumption{ReadingFresh, w.delay(pos)}
		}
	}
	return nil
}

// aheadUntil returns the time of the next event that set the same clock; the end of the
// trial if there is none.
func (w *wire) aheadUntil(event history.Op) time.Duration {
	for _, o := range w.clocks[event.Client] {
		if o.since > event.Time {
			return o.since
		}
	}
	return w.end
}

// counterLost explains where the fence counter was lost between two grants. It returns the
// commands that made the grants, and the broken assumption, which is nil if no node event
// explains the loss: then the recipe counts wrongly.
func (w *wire) counterLost(before, after fencedGrant) (cmds []int, broken *Assumption) {
	first, second := w.granting(before.entry.Invoke.Index), w.granting(after.entry.Invoke.Index)
	for _, pos := range []int{first, second} {
		cmds = append(cmds, w.indexOf(pos)...)
	}
	slices.Sort(cmds)
	for _, op := range slices.Backward(w.Ops) {
		if op.Time > after.entry.Complete.Time || op.Time < before.entry.Invoke.Time || op.Process != history.Nemesis || op.Window != nil {
			continue
		}
		switch {
		case op.F == history.FPromote, op.F == history.FSplit,
			op.F == history.FNodeUp && (second < 0 || op.Node == w.Commands[second].Node):
			return cmds, w.loses(op, "")
		case op.F == history.FEvict:
			for _, k := range op.Keys {
				if second < 0 || w.isCounter(before, k.Key) {
					return cmds, w.loses(op, k.Key)
				}
			}
		}
	}
	return cmds, nil
}

// granting returns the place of the last command that ran for the acquire; -1 if none was
// seen.
func (w *wire) granting(acquire int) int {
	for pos := len(w.Commands) - 1; pos >= 0; pos-- {
		if c := w.Commands[pos]; c.Op == acquire && c.Ran() {
			return pos
		}
	}
	return -1
}

// isCounter reports whether the grant's acquire wrote its fence to that key.
func (w *wire) isCounter(g fencedGrant, key string) bool {
	return slices.ContainsFunc(w.Of(g.entry.Invoke.Index), func(x *keyspace.Grant) bool {
		return x.Key == key && x.Wrote(fmt.Sprint(g.fence))
	})
}
