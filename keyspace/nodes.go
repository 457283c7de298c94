package keyspace

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file handles the events in which nodes keep or lose keys: restarts, promotions,
// evictions and migrations of slots.

// event applies an event of the nemesis to its node.
func (r *reader) event(op history.Op) {
	switch op.EventKind().F {
	case history.FSplit:
		r.split(op)
	case history.FPromote:
		r.promote(op)
	case history.FNodeClock:
		if n := r.nodes[op.Node]; n != nil {
			n.ahead = op.Offset
			n.jumps = append(n.jumps, jump{op.Time, op.Offset})
		}
	case history.FUnseen:
		r.goBlind(op)
	}
}

// goBlind notes that the node's keys are unknown from now on.
func (r *reader) goBlind(op history.Op) {
	if _, again := r.Unseen[op.Node]; again {
		return
	}
	r.Unseen[op.Node] = Blindness{Since: op.Time, Why: op.Error}
	if n := r.nodes[op.Node]; n != nil {
		for _, k := range n.sorted() {
			r.empty(k, End{How: Unclear, Cmd: -1, Event: op.Index, At: At(op.Time)})
		}
	}
}

// moved applies a change that no command made: the node lost values, or got older values or
// another node's values.
func (r *reader) moved(n *node, k *keyState, change int, at When) {
	c := r.Evidence.Keys[change]
	d := r.Differences[change]
	lost := End{How: Lost, Cmd: -1, Event: r.eventOf(c), At: at}
	if c.By == history.ByMigration && c.After == nil {
		kept := *k
		r.moving[string(c.Key)] = &kept
		k.places = map[string]*placeState{}
		return
	}
	if from := r.moving[string(c.Key)]; c.By == history.ByMigration && from != nil && from.content.SameValue(c.After) {
		delete(r.moving, string(c.Key))
		r.arrive(n, k, from)
		return
	}
	r.drop(k, d.Removed, lost)
	if c.After != nil {
		r.fallBack(n, k, c, at)
	}
	for _, s := range append(d.put(), r.older(k, c, at)...) {
		r.drop(k, []string{s.Name}, lost)
		k.places[s.Name] = r.revive(n, k, c, s, at)
	}
}

// older returns the places that kept their value but fell back to an earlier grant: that grant once
// had the key's new TTL, and the current grants never had it.
func (r *reader) older(k *keyState, c history.KeyChange, at When) (found []Spot) {
	if c.Before == nil || c.After == nil || c.Before.Expires == c.After.Expires {
		return nil
	}
	for _, s := range Spots(c.After) {
		p := k.places[s.Name]
		if p == nil || c.Before.Type != c.After.Type || slices.ContainsFunc(p.current, func(g *Grant) bool { return g.hadLife(c, at) }) {
			continue
		}
		if slices.ContainsFunc(r.byKey[string(c.Key)], func(g *Grant) bool {
			return g.Place == s.Name && g.Wrote(s.Value) && g.hadLife(c, at) && len(p.current) > 0 && g.Seq < p.current[0].Seq
		}) {
			found = append(found, s)
		}
	}
	return found
}

// hadLife reports whether the grant ever had the TTL that the key has after the change.
func (g *Grant) hadLife(c history.KeyChange, at When) bool {
	doubt := slack(at) + 2*time.Millisecond
	return g.AnyTerm(func(t *Term) bool { return t.is(c.After.Expires, doubt) })
}

// is reports whether the term ends at the given time, with a tolerance of doubt. The time 0 stands
// for a term without a TTL.
func (t Term) is(expires, doubt time.Duration) bool {
	return t.Mortal == (expires > 0) && (!t.Mortal || t.Expiry.Lo-doubt <= expires && expires <= t.Expiry.Hi+doubt)
}

// fallBack replaces the key's current term by the older term to which the node fell back.
func (r *reader) fallBack(n *node, k *keyState, c history.KeyChange, at When) {
	k.term = termOf(c, actor{pos: -1, client: Stranger, at: at})
	k.jumped = 0
	if c.Before == nil || c.Before.Expires == c.After.Expires {
		return
	}
	for _, g := range k.everything() {
		old := r.termsFor(n, g, c, at)
		t := *old.get(old.len() - 1)
		t.At, t.Event = at, r.eventOf(c)
		g.terms.add(t)
	}
}

// arrive moves the key, with all its grants, to another node.
func (r *reader) arrive(n *node, k, from *keyState) {
	*k = *from
	for _, g := range k.everything() {
		g.Moved, g.Node = append(g.Moved, g.Node), n.name
	}
}

// revive returns the place for a value that a node got without a command. The value belongs
// to the grant that writer finds, or else to a stranger.
func (r *reader) revive(n *node, k *keyState, c history.KeyChange, s Spot, at When) *placeState {
	g := r.writer(c, s, at)
	if g == nil {
		return &placeState{current: []*Grant{r.grant(n, k, string(c.Key), s, actor{pos: -1, client: Stranger, op: -1, at: at})}}
	}
	p := &placeState{}
	for _, old := range r.chain(g) {
		p.overwritten = append(p.overwritten, k.join(r.copy(n, old, c, at)))
	}
	back := k.join(r.copy(n, g, c, at))
	for _, old := range p.overwritten {
		old.Over, old.OverSeq = back, back.Seq
	}
	back.Value = s.Value
	p.current = []*Grant{back}
	return p
}

// writer returns the latest grant that wrote the value in that place; nil if there is none.
// It considers only grants up to the last time at which the whole key had its present
// content. It prefers grants that had the key's present TTL.
func (r *reader) writer(c history.KeyChange, s Spot, at When) (latest *Grant) {
	asOf := r.lastWith(c)
	for _, g := range slices.Backward(r.byKey[string(c.Key)]) {
		if g.Place != s.Name || !g.Wrote(s.Value) || g.Seq > asOf || g.Op < 0 && g.Client == Stranger {
			continue
		}
		if g.hadLife(c, at) {
			return g
		}
		latest = cmp.Or(latest, g)
	}
	return latest
}

// lastWith returns the last Seq at which the key, on any node, had the content that it has
// after the change. It returns the current Seq if the key never had that content.
func (r *reader) lastWith(c history.KeyChange) int {
	until := map[string]int{} // by node: the last Seq before the key's next change there
	for i, s := range slices.Backward(r.Steps) {
		was := r.Evidence.Keys[s.Change]
		if was.Key != c.Key {
			continue
		}
		if was.After != nil && was.After.SameValue(c.After) {
			return cmp.Or(until[was.Node], r.seq)
		}
		until[was.Node] = r.began[i]
	}
	return r.seq
}

// chain returns the earlier grants of the same owner in the same place, the earliest first.
// Each was overwritten by the next, and the last one by g.
func (r *reader) chain(g *Grant) (before []*Grant) {
	top := g
	for _, old := range slices.Backward(r.byKey[g.Key]) {
		if old.Over == top && old.Client == g.Client && old.Node == g.Node {
			before = append(before, old)
			top = old
		}
	}
	slices.Reverse(before)
	return before
}

// copy returns a copy of the grant for another node, or for the same node after a restart.
func (r *reader) copy(n *node, g *Grant, c history.KeyChange, at When) *Grant {
	twin := *g
	twin.Node, twin.Copied, twin.Came = n.name, true, at.Lo
	twin.End, twin.Over, twin.OverSeq = nil, nil, 0
	twin.values = g.values.first(g.values.len())
	twin.Moved = slices.Clone(g.Moved)
	twin.terms = r.termsFor(n, g, c, at)
	r.enter(&twin)
	return &twin
}

// termsFor returns the terms of the grant, up to the term that the key has on that node. If
// none of the grant's terms matches the key's term there, termsFor adds that term. The
// reason for the mismatch may be that the node's clock differs from the original node's
// clock.
func (r *reader) termsFor(n *node, g *Grant, c history.KeyChange, at When) trail[Term] {
	terms := g.terms.first(g.terms.len())
	if c.After == nil {
		return terms
	}
	for i := g.TermCount() - 1; i >= 0; i-- {
		if t := *g.Term(i); t.is(c.After.Expires, slack(at)+2*time.Millisecond) {
			if terms = g.terms.first(i + 1); i < g.TermCount()-1 {
				t.At, t.Event = at, r.eventOf(c)
				terms.add(t)
			}
			return terms
		}
	}
	last := *g.Last()
	t := termOf(c, actor{pos: last.Cmd, client: last.Client, at: at})
	if from := r.nodes[g.Node]; t.Mortal && last.Mortal && from != nil && from.aheadAt(last.At.Lo) != n.ahead {
		t.Fair, t.Moved = last.Fair, t.Expiry.Lo-last.Fair.Lo
		t.At, t.Most = last.At, max(0, t.Moved)
	} else {
		t.Event = r.eventOf(c)
	}
	terms.add(t)
	return terms
}

// eventOf returns the index of the history's entry for the event that changed the key; -1
// if there is none. It takes the entry that is closest in time.
func (r *reader) eventOf(c history.KeyChange) int {
	best, gap := -1, Lifetime
	for _, op := range r.Ops {
		if op.Node != c.Node || !slices.Contains(op.EventKind().Changes, c.By) {
			continue
		}
		between := (op.Time - c.From).Abs()
		if c.By == history.ByRestart && op.Time > c.To {
			continue // a node goes down before it restarts
		}
		if between < gap {
			best, gap = op.Index, between
		}
	}
	return best
}

// split begins a split brain: one client after the other moves to a replica, while the rest
// continue at the old primary. From the first move on, each node gets writes that the other
// does not get.
func (r *reader) split(op history.Op) {
	old := cmp.Or(op.From, r.primary)
	if r.apart(old) != nil || op.Node == old {
		return
	}
	r.SplitBrains = append(r.SplitBrains, &SplitBrain{Old: old, Heir: op.Node, Since: op.Time, From: r.tick()})
	r.inherit(old, op)
}

// apart returns the open split brain whose old primary is the node old; nil if there is none.
func (r *reader) apart(old string) *SplitBrain {
	for _, p := range r.SplitBrains {
		if p.Old == old && p.Until == 0 {
			return p
		}
	}
	return nil
}

// promote makes another node the primary. If that ends a split brain between the two nodes, all
// grants on the old primary end as lost, and the grants on the new primary stay. Otherwise inherit
// records the end of the grants that the new primary lacks.
func (r *reader) promote(op history.Op) {
	old := cmp.Or(op.From, r.primary)
	if p := r.apart(old); p != nil {
		p.Until = r.tick()
		if p.Heir == op.Node {
			if n := r.nodes[p.Old]; n != nil {
				r.discard(n, op)
			}
			r.succeed(old, op.Node)
			return
		}
	}
	if old != op.Node {
		r.inherit(old, op)
	}
	r.succeed(old, op.Node)
}

// succeed makes heir the primary of all keys, if old was their primary. In a Cluster no node is the
// primary of all keys, and each event names the old master.
func (r *reader) succeed(old, heir string) {
	if r.primary == old {
		r.primary = heir
	}
}

// discard ends all grants on the node: the node became a replica and took over another
// node's data.
func (r *reader) discard(n *node, op history.Op) {
	for _, k := range n.sorted() {
		r.empty(k, End{How: Lost, Cmd: -1, Event: op.Index, At: At(op.Time)})
	}
}

// inherit compares the old primary's grants with the data of its heir. Each grant that the
// heir lacks gets a copy there that ends at once.
func (r *reader) inherit(old string, op history.Op) {
	from, to := r.nodes[old], r.nodes[op.Node]
	if from == nil || to == nil {
		return // no command or change was seen on one of the nodes
	}
	for len(to.items) > 0 && to.items[0].cmd < 0 && r.Evidence.Keys[to.items[0].changes[0]].By == history.ByPromotion {
		r.step(to)
	}
	for _, name := range from.names() {
		for _, g := range from.keys[name].everything() {
			if !r.has(to, g) {
				twin := r.copy(to, g, history.KeyChange{}, At(op.Time))
				r.finish([]*Grant{twin}, absence(twin, from.ahead-to.ahead, op))
			}
		}
	}
}

// absence returns the end of a grant that the heir lacks. The grant expired if its last
// term has ended by the heir's clock, which may be ahead of the old primary's; otherwise it
// was lost. The argument later is how much later a term ends by the heir's clock; it is
// negative if that clock is ahead.
func absence(g *Grant, later time.Duration, op history.Op) End {
	if t := g.Last(); t.Mortal && later < 0 && t.Expiry.Hi+later < op.Time {
		g.terms.amend(func(t *Term) {
			t.Expiry = When{t.Expiry.Lo + later, t.Expiry.Hi + later}
			t.Moved += later
		})
		return End{How: Expired, Cmd: -1, Event: -1, At: At(op.Time)}
	}
	return End{How: Lost, Cmd: -1, Event: op.Index, At: At(op.Time)}
}

// has reports whether the node carries a copy of the grant.
func (r *reader) has(n *node, g *Grant) bool {
	k := n.keys[g.Key]
	if k == nil || k.places[g.Place] == nil {
		return false
	}
	return slices.ContainsFunc(k.places[g.Place].all(), func(c *Grant) bool { return c.Op == g.Op && c.Client == g.Client })
}
