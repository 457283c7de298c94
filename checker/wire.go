package checker

import (
	"maps"
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
	before           []string // the nodes where it was before its slot moved
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
	// alone: if it came about, there certainly was no key.
	alone bool
	// own: it is a field with a life of its own, by the node's clock, whatever
	// becomes of the key's.
	own bool
	// copied: it came to this node by replication or over a restart, so that
	// an older state may stand there instead.
	copied bool
	// came is when a copy came to this node, at the earliest.
	came time.Duration
	// over is whose claim took its place in the key, overSeq when.
	over    *life
	overSeq int
	terms   []term
	end     *ending // nil: it outlived the history
}

// wasOn says whether the claim is on that node, or was before its slot moved.
func (l *life) wasOn(node string) bool { return l.node == node || slices.Contains(l.before, node) }

// term is a life that a key was given.
type term struct {
	cmd    int
	client int
	at     when
	sure   bool
	ttl    bool // false: it lives on without end
	// expiry is when it ends, fair when it would if no clock jumped.
	expiry, fair when
	// moved is by how much later it ends since its node's clock jumped; earlier,
	// if negative. most is the latest that it ever was, for a clock is set right again.
	moved, most time.Duration
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
	// partings are when there were two primaries, in order; one of each old primary
	// may be open.
	partings []*parting
	// until is when the node was done with a command at the latest.
	until map[int]time.Duration
	// unanswered are the operations that wait for a reply in vain.
	unanswered map[int]bool
	seq        int // of the walk's steps

	lives   []*life
	byOp    map[int][]*life
	strikes []strike
	meets   []meet
	// hazes are commands that may have found there what nobody can see.
	hazes []meet
	// vain are the places of commands that nobody heard the reply of and that did nothing.
	vain map[int]bool
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
	ahead   time.Duration            // of its wall clock
	scripts map[string]time.Duration // see keepScript
	// conns are those on which it has served; dying is the event in which it is said
	// to be killed, while it still serves on them.
	conns map[conn]bool
	dying *history.Op
}

func newNode(name string) *node {
	return &node{name: name, keys: map[string]*keyState{}, blurred: map[int]bool{}, conns: map[conn]bool{}, scripts: map[string]time.Duration{}}
}

// keyState is one key during the walk.
type keyState struct {
	carriers []*life // what it carries
	shadows  []*life // what was overwritten since it is there
	ttl      bool
	expiry   when          // by the node's clock as it runs now: it may lie before the clock's last jump
	fair     when          // if no clock had jumped
	moved    time.Duration // see term
	jumped   time.Duration // when the clock jumped last
	doubt    *ending       // it may have ended so, nobody saw it yet
	// older: it may have ended so, and an older state may stand there instead.
	older  *ending
	opaque bool
	// maybe is what may be there besides or instead, because of what nobody heard.
	maybe []*life
	// past is what it carried before it was deleted, the latest last; ghosts are
	// what of that may stand there again.
	past   [][]*life
	ghosts *ghosts
}

func (k *keyState) all() []*life { return append(slices.Clone(k.carriers), k.shadows...) }

// due is when the key's life ends: not before the jump that ended it.
func (k *keyState) due() when { return when{max(k.expiry.lo, k.jumped), max(k.expiry.hi, k.jumped)} }

// lone says whether all that the key carries is one claim, which came about if
// anything did.
func (k *keyState) lone() bool {
	return len(k.carriers) == 1 && k.carriers[0].alone && len(k.maybe) == 0
}

// expires is how the key ends by its own life.
func (k *keyState) expires() ending {
	return ending{how: expired, cmd: -1, event: -1, at: k.due(), sure: true}
}

// expirySlack covers Redis's milliseconds and its cached clock; a thousandth of
// the life is added for a wall clock that is being slewed.
const expirySlack = 2 * time.Millisecond

// readWire walks through the log and the nemesis's events in order of time,
// on each node in its order of execution.
func readWire(l *ledger) *wire {
	w := &wire{
		ledger: l, scripts: map[string]history.Script{}, nodes: map[string]*node{}, byOp: map[int][]*life{},
		vain: map[int]bool{}, blind: map[string]int{}, holders: map[string][]string{}, until: map[int]time.Duration{}, unanswered: map[int]bool{},
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
		if n.dying == nil {
			n.conns[connOf(w.Commands[pos])] = true
		}
		w.command(n, pos)
		w.dies(n)
	}
	w.close(order)
	return w
}

// bear enters a life into the book.
func (w *wire) bear(l *life) {
	w.lives = append(w.lives, l)
	w.byOp[l.op] = append(w.byOp[l.op], l)
	if !slices.Contains(w.holders[l.lock], l.key) {
		w.holders[l.lock] = append(w.holders[l.lock], l.key)
	}
}

func (w *wire) tick() int {
	w.seq++
	return w.seq
}

// close lets everything expire that did before the history's end.
func (w *wire) close(order []*node) {
	for _, n := range order {
		for _, key := range slices.Sorted(maps.Keys(n.keys)) {
			k := n.keys[key]
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
