package checker

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// when bounds an instant that nobody saw: it lies between the two.
type when struct{ lo, hi time.Duration }

// mid is the likeliest instant, for texts: to the millisecond, as nobody knows it better.
func (w when) mid() time.Duration { return (w.lo + (w.hi-w.lo)/2).Round(time.Millisecond) }

// life is the story of one claim: what one set put on one key of one node.
//
// A key may carry several at once: the fields of a hash. A claim that was
// overwritten, be it by the same value, is no longer carried, but its owner
// still profits from the key, so its life goes on until the key is gone.
type life struct {
	node, key, field string
	client           int
	lock             string
	mode             history.Mode
	op               int // the invocation whose command set it; -1 for none
	cmd              int // place of that command in the log
	at               when
	seq              int
	value            string
	stamps           []string
	// sure: it certainly came about.
	sure bool
	// copied: it came to this node by replication or over a restart, so that
	// an older state may stand there instead.
	copied bool
	// over is whose claim took its place in the key, overSeq when.
	over    *life
	overSeq int
	terms   []term
	end     *ending // nil: it outlived the history
}

// term is a life that a key was given.
type term struct {
	cmd    int
	client int
	at     when
	sure   bool
	ttl    bool // false: it lives on without end
	// expiry is when it ends, fair when it would if no clock jumped.
	expiry, fair when
}

// howEnded is how a claim ended.
type howEnded int

const (
	deleted howEnded = iota // by ending.cmd
	expired                 // by the last term
	lost                    // by its node: ending.event, or unseen (eviction)
	unclear                 // something ran that nobody can read: ending.cmd
)

// ending is how a claim ended.
type ending struct {
	how   howEnded
	cmd   int // place in the log, -1 for none
	event int // index of the history's entry, -1 for none
	at    when
	seq   int
	sure  bool
}

// strike is a DEL or EXPIRE that took effect, and what the key carried then.
type strike struct {
	cmd  int
	kind history.EffectKind
	key  string
	at   when
	on   []*life
	sure bool
	// owned: it was part of a set of the same key.
	owned bool
	// blind: what the key carried cannot be told.
	blind bool
}

// meet is a command that found the key there.
type meet struct {
	cmd int
	at  when
	seq int
	on  []*life
}

// wire is the log of commands, read as what happened to each key on each node.
type wire struct {
	*ledger
	scripts map[string]history.Script
	nodes   map[string]*node
	primary string
	// until is when the node was done with a command at the latest.
	until map[int]time.Duration
	// unanswered are the operations that wait for a reply in vain.
	unanswered map[int]bool
	seq        int // of the walk's steps

	lives   []*life
	byOp    map[int][]*life
	strikes []strike
	meets   []meet
	// blind are the places of commands that made keys unreadable, by key.
	blind map[string]int
	// holders are the keys that ever carried a claim, by lock.
	holders  map[string][]string
	renewing []int // see renewals
}

// node is one Redis node during the walk.
type node struct {
	name  string
	queue []int // places of commands in the log, in order of execution
	// blurred are those of which nobody saw in what order they ran.
	blurred map[int]bool
	keys    map[string]*keyState
	ahead   time.Duration // of its wall clock
}

// keyState is one key during the walk.
type keyState struct {
	carriers []*life // what it carries
	shadows  []*life // what was overwritten since it is there
	ttl      bool
	expiry   when
	fair     when
	doubt    *ending // it may have ended so, nobody saw it yet
	// older: it may have ended so, and an older state may stand there instead.
	older  *ending
	opaque bool
}

func (k *keyState) all() []*life { return append(slices.Clone(k.carriers), k.shadows...) }

// expirySlack covers Redis's milliseconds and its cached clock; a thousandth of
// the life is added for a wall clock that is being slewed.
const expirySlack = 2 * time.Millisecond

// readWire walks through the log and the nemesis's events in order of time,
// on each node in its order of execution.
func readWire(l *ledger) *wire {
	w := &wire{
		ledger: l, scripts: map[string]history.Script{}, nodes: map[string]*node{}, byOp: map[int][]*life{},
		blind: map[string]int{}, holders: map[string][]string{}, until: map[int]time.Duration{}, unanswered: map[int]bool{},
	}
	for _, s := range l.Claims.Scripts {
		w.scripts[s.SHA1] = s
	}
	order := w.queues()
	for next := 0; ; {
		n := w.earliest(order)
		for next < len(l.Ops) && (n == nil || l.Ops[next].Time <= w.ran(n.queue[0]).lo) {
			w.event(l.Ops[next])
			next++
		}
		if n == nil {
			break
		}
		pos := n.queue[0]
		n.queue = n.queue[1:]
		w.command(n, pos)
	}
	w.close(order)
	return w
}

// event takes in what the nemesis did to a node.
func (w *wire) event(op history.Op) {
	if op.Process != history.Nemesis || op.Window != nil {
		return
	}
	n := w.nodes[op.Node]
	switch op.F {
	case history.FNodeDown:
		if n != nil {
			w.mayLose(n, op)
		}
	case history.FPromote:
		w.promote(op)
	case history.FNodeClock:
		if n != nil {
			w.jump(n, op)
		}
	}
}

// mayLose: the node was killed; what it has kept of its keys will be seen when
// it is back. It serves commands before the history says that it is up again.
func (w *wire) mayLose(n *node, op history.Op) {
	for _, k := range n.keys {
		w.lapse(k, when{op.Time, op.Time}, nil)
		if len(k.carriers) > 0 {
			k.doubt = &ending{how: lost, cmd: -1, event: op.Index, at: when{op.Time, op.Time}, sure: true}
			k.older = k.doubt
		}
		for _, l := range k.carriers {
			l.copied = true
		}
	}
}

// promote gives the node what replication may have brought it.
func (w *wire) promote(op history.Op) {
	from, to := w.nodes[w.primary], w.nodes[op.Node]
	if to == nil || from == to {
		return // nobody ever talked to it
	}
	w.primary = op.Node
	if from == nil {
		return
	}
	keys := make([]string, 0, len(from.keys))
	for key := range from.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		k := from.keys[key]
		w.lapse(k, when{op.Time, op.Time}, nil)
		twin := &keyState{ttl: k.ttl, expiry: k.expiry, fair: k.fair, opaque: k.opaque}
		twin.carriers, twin.shadows = w.copy(k.carriers, to.name), w.copy(k.shadows, to.name)
		if len(twin.carriers) > 0 {
			twin.doubt = &ending{how: lost, cmd: -1, event: op.Index, at: when{op.Time, op.Time}, sure: true}
			twin.older = twin.doubt
		}
		to.keys[key] = twin
	}
}

func (w *wire) copy(lives []*life, node string) []*life {
	var copies []*life
	for _, l := range lives {
		c := *l
		c.node, c.copied = node, true
		c.terms = slices.Clone(l.terms)
		w.bear(&c)
		copies = append(copies, &c)
	}
	return copies
}

// bear enters a life into the book.
func (w *wire) bear(l *life) {
	w.lives = append(w.lives, l)
	w.byOp[l.op] = append(w.byOp[l.op], l)
	if !slices.Contains(w.holders[l.lock], l.key) {
		w.holders[l.lock] = append(w.holders[l.lock], l.key)
	}
}

// jump sets the node's wall clock, by which it lets keys expire.
func (w *wire) jump(n *node, op history.Op) {
	by := min(max(op.Offset, -lifetime), lifetime) - n.ahead
	n.ahead += by
	for _, k := range n.keys {
		w.lapse(k, when{op.Time, op.Time}, nil)
		if !k.ttl {
			continue
		}
		k.expiry = when{max(op.Time, k.expiry.lo-by), max(op.Time, min(k.expiry.hi-by, lifetime))}
		for _, l := range k.all() {
			l.terms[len(l.terms)-1].expiry = k.expiry
		}
	}
}

func (w *wire) tick() int {
	w.seq++
	return w.seq
}

// close lets everything expire that did before the history's end.
func (w *wire) close(order []*node) {
	for _, n := range order {
		for _, k := range n.keys {
			w.lapse(k, when{w.end, w.end}, nil)
		}
	}
}

// indexOf gives the log's own indices of the commands at these places.
func (w *wire) indexOf(places ...int) []int {
	var indices []int
	for _, p := range places {
		if p >= 0 && p < len(w.Commands) {
			indices = append(indices, w.Commands[p].Index)
		}
	}
	slices.Sort(indices)
	return slices.Compact(indices)
}
