package checker

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// This file takes in what the nemesis did to nodes and what they keep.

// event takes in what the nemesis did to a node.
func (w *wire) event(op history.Op) {
	if op.Process != history.Nemesis || op.Window != nil {
		return
	}
	n := w.nodes[op.Node]
	switch op.F {
	case history.FNodeDown:
		if n != nil {
			n.dying = &op
			w.dies(n)
		}
	case history.FNodeUp:
		if n != nil {
			w.dead(n)
		}
	case history.FEvict:
		if n != nil {
			w.evict(n, op)
		}
	case history.FSplit:
		w.split(op)
	case history.FPromote:
		w.promote(op)
	case history.FMigrate:
		w.migrate(op)
	case history.FNodeClock:
		if n != nil {
			w.jump(n, op)
		}
	}
}

// dies: the node is said to be killed. Commands on connections that it had before ran
// before it was, whatever the log says: it has lost what it loses after them.
func (w *wire) dies(n *node) {
	if n.dying == nil || len(n.queue) > 0 && n.conns[connOf(w.Commands[n.queue[0]])] {
		return
	}
	w.dead(n)
}

// bury ends the old primary's dying: another takes its place.
func (w *wire) bury(node string) {
	if n := w.nodes[node]; n != nil {
		w.dead(n)
	}
}

// dead: from now on the node has what it kept, if it is back.
func (w *wire) dead(n *node) {
	if op := n.dying; op != nil {
		n.dying = nil
		w.mayLose(n, *op)
	}
}

// conn is one connection to a node.
type conn struct{ client, number int }

func connOf(c history.Command) conn { return conn{c.Client, c.Conn} }

// mayLose: the node was killed; what it has kept of its keys will be seen when
// it is back. It serves commands before the history says that it is up again.
func (w *wire) mayLose(n *node, op history.Op) {
	for _, key := range slices.Sorted(maps.Keys(n.keys)) {
		k := n.keys[key]
		w.lapse(k, when{op.Time, op.Time}, nil)
		k.ghosts = &ghosts{n.name, k.past}
		if len(k.carriers) > 0 {
			gone := lostIn(op)
			k.doubt, k.older = &gone, &gone
		}
		for _, l := range k.carriers {
			l.copied = true
		}
	}
}

// evict: the node gave up these keys under memory pressure. It is on record before the
// node executed anything without them, but of a command only bounds may be known: a grant
// that came after may stand before it here, and what that put there was not evicted.
func (w *wire) evict(n *node, op history.Op) {
	for _, found := range op.Keys {
		k := n.keys[found.Key]
		if k == nil {
			continue
		}
		if w.stale(n, k, found, op) {
			continue
		}
		w.lapse(k, when{op.Time, op.Time}, seen(found))
		if later := k.enteredSince(found); len(later) > 0 {
			gone := func(l *life) bool { return !slices.Contains(later, l) }
			w.finish(k, keep(k.all(), gone), lostIn(op))
			k.carriers, k.shadows = later, nil
			continue
		}
		k.maybe = nil
		w.clear(k, lostIn(op))
	}
}

// stale says whether what was evicted is not what the key carries now, but known to
// be an earlier claim's, which is then what this event ended, if nobody saw its end.
func (w *wire) stale(n *node, k *keyState, found history.KeyState, op history.Op) bool {
	shows := func(l *life) bool { return l.shownBy(found) }
	if len(k.carriers) == 0 || slices.ContainsFunc(k.carriers, shows) {
		return false
	}
	for _, l := range slices.Backward(w.lives) {
		if l.node != n.name || l.key != found.Key || l.end == nil || !shows(l) {
			continue
		}
		if l.end.how == lost && l.end.event < 0 {
			l.end.event = op.Index
		}
		return true
	}
	return false
}

// shownBy says whether what was found in the key is certainly this claim.
func (l *life) shownBy(found history.KeyState) bool {
	value := string(found.Value)
	if found.Type == "string" {
		return value != "" && (l.value == value || slices.Contains(l.stamps, value))
	}
	return slices.ContainsFunc(l.stamps, func(s string) bool { return strings.Contains(value, s) })
}

// enteredSince are the claims that came into a hash that was new after the one with
// those fields had been evicted: it has the fields of others, and not theirs.
func (k *keyState) enteredSince(found history.KeyState) []*life {
	if found.Type != "hash" {
		return nil
	}
	named := func(l *life) bool { return l.field != "" && l.field != ownField }
	has := func(l *life) bool { return strings.Contains(" "+string(found.Value), " "+l.field+"=") }
	first := slices.IndexFunc(k.carriers, func(l *life) bool { return named(l) && has(l) })
	if first < 0 {
		return nil
	}
	return keep(k.carriers, func(l *life) bool { return named(l) && !has(l) && l.seq > k.carriers[first].seq })
}

// lostIn is the ending of what a node lost in an event.
func lostIn(op history.Op) ending {
	return ending{how: lost, cmd: -1, event: op.Index, at: when{op.Time, op.Time}, sure: true}
}

// parting is a time in which two nodes served as primaries: of all keys, or in a
// Cluster of a shard's, which may be one of several that are parted at once.
type parting struct {
	old, heir   string
	since       time.Duration
	from, until int // seq; until is 0 if it did not end
}

// split: clients are moved to a replica, one after the other, while the rest go
// on at the old primary. From the first on, each node has what only it was told.
func (w *wire) split(op history.Op) {
	old := cmp.Or(op.From, w.primary)
	if w.apart(old) != nil || op.Node == old {
		return
	}
	w.bury(old)
	w.partings = append(w.partings, &parting{old: old, heir: op.Node, since: op.Time, from: w.tick()})
	w.inherit(w.nodes[old], w.nodes[op.Node], op)
}

// apart is the parting from that primary that has not ended; nil if there is none.
func (w *wire) apart(old string) *parting {
	for _, p := range w.partings {
		if p.old == old && p.until == 0 {
			return p
		}
	}
	return nil
}

// parted is the parting of these two nodes in which seq lies; nil if there is none.
func (w *wire) parted(a, b string, seq int) *parting {
	for _, p := range w.partings {
		if (p.old == a && p.heir == b || p.old == b && p.heir == a) && p.from < seq && (p.until == 0 || seq < p.until) {
			return p
		}
	}
	return nil
}

// promote gives the node what replication may have brought it, unless it has
// been a primary beside the old one: then what only the old one had is lost.
func (w *wire) promote(op history.Op) {
	old := cmp.Or(op.From, w.primary)
	w.bury(old)
	if p := w.apart(old); p != nil {
		p.until = w.tick()
		if p.heir == op.Node {
			w.discard(w.nodes[p.old], op)
			w.succeed(old, op.Node)
			return
		}
	}
	from, to := w.nodes[old], w.nodes[op.Node]
	if to == nil || from == to {
		return // nobody ever talked to it
	}
	w.succeed(old, op.Node)
	w.inherit(from, to, op)
}

// succeed notes who is the primary of all, if it was the old one; in a Cluster that
// is nobody, and its events name the old master.
func (w *wire) succeed(old, heir string) {
	if w.primary == old {
		w.primary = heir
	}
}

// discard ends all that the node had: it became a replica, of another's data.
func (w *wire) discard(n *node, op history.Op) {
	if n == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(n.keys)) {
		w.lapse(n.keys[key], when{op.Time, op.Time}, nil)
		w.clear(n.keys[key], lostIn(op))
	}
	clear(n.keys)
}

// migrate: the slots of these keys move to another master, and the keys with them,
// all that they carry included: the claims are the same.
func (w *wire) migrate(op history.Op) {
	from := w.nodes[op.From]
	if from == nil || op.Node == op.From {
		return
	}
	to := w.nodes[op.Node]
	if to == nil {
		to = newNode(op.Node)
		w.nodes[op.Node] = to
	}
	for _, found := range op.Keys {
		k := from.keys[found.Key]
		if k == nil {
			continue
		}
		w.lapse(k, when{op.Time, op.Time}, seen(found))
		for _, l := range k.all() {
			l.before, l.node = append(l.before, l.node), to.name
		}
		to.keys[found.Key] = k
		delete(from.keys, found.Key)
	}
}

// seen is what a look at a key tells of it.
func seen(found history.KeyState) *sight {
	s := &sight{key: found.Key, present: true}
	if found.Type == "string" {
		value := string(found.Value)
		s.value = &value
	}
	return s
}

// ghosts are claims whose deletion may not have come to a node: it was not
// replicated, or lost in a restart.
type ghosts struct {
	node  string
	lives [][]*life // as in keyState.past
}

// maxPast bounds how far back ghosts are looked for.
const maxPast = 16

// haunt takes what is unexpectedly there for what was deleted last, of those
// that can be there still. Whose it was, nobody saw.
func (w *wire) haunt(k *keyState, at when, s *sight) bool {
	if k.ghosts == nil {
		return false
	}
	for _, lives := range slices.Backward(k.ghosts.lives) {
		last := lives[0].terms[len(lives[0].terms)-1]
		shows := func(l *life) bool {
			return s.value == nil || l.value == *s.value || slices.Contains(l.stamps, *s.value)
		}
		if last.ttl && last.expiry.hi < at.lo || !slices.ContainsFunc(lives, shows) {
			continue
		}
		back := w.copy(lives, k.ghosts.node, at.lo)
		for _, l := range back {
			l.end, l.over = nil, nil
		}
		*k = keyState{
			carriers: back, ttl: last.ttl, expiry: last.expiry, fair: last.fair, moved: last.moved, past: k.past,
		}
		return true
	}
	return false
}

// inherit gives a replica that becomes a primary what replication may have
// brought it: nobody saw how much that was. It counts lives by its own clock.
func (w *wire) inherit(from, to *node, op history.Op) {
	if from == nil || to == nil {
		return
	}
	w.discard(to, op) // of when it was a primary before
	for _, key := range slices.Sorted(maps.Keys(from.keys)) {
		k := from.keys[key]
		w.lapse(k, when{op.Time, op.Time}, nil)
		twin := &keyState{ttl: k.ttl, expiry: k.expiry, fair: k.fair, moved: k.moved, jumped: k.jumped, opaque: k.opaque, ghosts: &ghosts{to.name, k.past}}
		twin.carriers, twin.shadows = w.copy(k.carriers, to.name, op.Time), w.copy(k.shadows, to.name, op.Time)
		if by := to.ahead - from.ahead; by != 0 {
			w.shift(twin, by, op.Time)
		}
		if len(twin.carriers) > 0 {
			gone := lostIn(op)
			twin.doubt, twin.older = &gone, &gone
		}
		twin.vague(k.maybe...)
		to.keys[key] = twin
	}
}

func (w *wire) copy(lives []*life, node string, at time.Duration) []*life {
	var copies []*life
	for _, l := range lives {
		c := *l
		c.node, c.copied, c.came = node, true, at
		c.terms = slices.Clone(l.terms)
		w.bear(&c)
		copies = append(copies, &c)
	}
	return copies
}

// jump sets the node's wall clock, by which it lets keys expire.
func (w *wire) jump(n *node, op history.Op) {
	by := min(max(op.Offset, -lifetime), lifetime) - n.ahead
	n.ahead += by
	for _, key := range slices.Sorted(maps.Keys(n.keys)) {
		w.shift(n.keys[key], by, op.Time)
	}
}

// shift moves the end of the key's life when its node's clock jumps: the end is
// an instant on that clock. A key that was overdue when the clock went back may
// be gone, or may live again: Redis removes it when it comes across it.
func (w *wire) shift(k *keyState, by, at time.Duration) {
	w.shiftFields(k, by, at)
	k.unsettle()
	later := when{bounded(k.expiry.lo - by), bounded(k.expiry.hi - by)}
	revived := by < 0 && k.ttl && at >= k.expiry.lo && at <= later.hi
	switch {
	case !revived:
		w.lapse(k, when{at, at}, nil)
	case len(k.carriers) > 0 && k.doubt == nil:
		gone := k.expires()
		k.doubt = &gone
	}
	if !k.ttl {
		return
	}
	k.expiry, k.moved, k.jumped = later, bounded(k.moved-by), at
	for _, l := range k.all() {
		if !l.own {
			last := &l.terms[len(l.terms)-1]
			last.expiry, last.moved, last.most = k.due(), k.moved, max(last.most, k.moved)
		}
	}
}

// bounded keeps sums of a few such times from overflowing.
func bounded(d time.Duration) time.Duration { return min(max(d, -lifetime), lifetime) }
