package keyspace

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Lifetime is an upper bound of all times in calculations. It keeps sums from overflowing.
const Lifetime = time.Duration(1) << 60

// Clip limits a recorded time to the range from 0 to Lifetime. This keeps sums from
// overflowing.
func Clip(d time.Duration) time.Duration { return min(max(d, 0), Lifetime) }

// Read returns the grants on all keys and the commands that affected them. It is a pure
// function of the evidence, in O(n log n). The operations must form a possible history,
// and each operation on a read-write lock must have its mode.
func Read(e history.Evidence) *Keys {
	pairing, _ := history.Paired(e.Ops) // the caller has checked the history
	return ReadPaired(Attribute(e), pairing)
}

// ReadPaired is Read for evidence that Attribute returned, with its operations.
func ReadPaired(e history.Evidence, pairing history.Pairing) *Keys {
	r := &reader{
		Keys: &Keys{
			Effects: make([][]int, len(e.Commands)), Unseen: map[string]Blindness{}, Refused: map[int]int{},
			byOp: make(map[int][]*Grant, len(pairing.All)), holders: map[string][]string{},
			pairing: pairing, sent: make([][]int, len(pairing.Ops)), watched: e.Watched, commands: e.Commands,
		},
		Evidence: e, nodes: map[string]*node{}, byKey: map[string][]*Grant{}, moving: map[string]*keyState{},
		joined: map[KeyPlace]bool{},
	}
	for _, c := range e.Keys {
		r.Differences = append(r.Differences, Compare(c.Before, c.After))
	}
	for pos := range e.Commands {
		if at := pairing.Place(e.Commands[pos].Op); at >= 0 {
			r.sent[at] = append(r.sent[at], pos)
		}
	}
	r.enqueue()
	r.bound()
	r.findResting()
	r.findSet()
	r.orient()
	r.reach()
	r.walk()
	r.close()
	r.Last = r.seq
	return r.Keys
}

// reader builds the Keys of one Read. It first prepares tables of the evidence, then walks through
// the evidence in order of time. It is one type because each step reads and changes the keys as they are so far.
type reader struct {
	*Keys
	history.Evidence
	nodes   map[string]*node
	order   []*node
	primary string
	byKey   map[string][]*Grant
	moving  map[string]*keyState // keys whose slot is moving
	resting map[int]bool         // the last command of each acquire that succeeded but changed no value
	began   []int                // the value of seq before each of the Steps
	seq     int
	down    map[KeyPlace]bool // counts that go down
	set     map[KeyPlace]bool // places whose numbers are no counts; see findSet

	arguments map[string]*argument              // cache; see the method acquireArguments
	tokens    map[string]int                    // cache: the client by its token, Stranger if several clients use it
	granted   map[string]map[history.Bytes]bool // cache; see the method grantReplies
	words     map[string]int                    // cache; see the method wordSenders
	numbers   map[KeyPlace]map[string]bool      // cache; see the method numberSlots
	joined    map[KeyPlace]bool                 // places in which an acquire that succeeded left another owner's token
}

// keyState is one key of a node at the point that reader.walk has reached.
type keyState struct {
	content *history.KeyContent // nil: the key is absent
	places  map[string]*placeState
	term    Term
	jumped  time.Duration // time of the last jump of the node's clock during the term; 0 for none
	later   *sequel[Term] // the terms after the key's first one; nil for none
}

// placeState is one place of an existing key.
type placeState struct {
	current     []*Grant // the grants that the place carries, in order of Seq
	overwritten []*Grant
	// emptied is the end of the shares of a count that goes up and has reached zero; otherwise
	// nil. The shares stay in the place until the next change of the count.
	emptied *End
	numbers *sequel[string] // the numbers that the count had; nil for none
}

func (p *placeState) all() []*Grant { return append(slices.Clone(p.current), p.overwritten...) }

// standing returns the grants that still rely on the value in the place: the current
// grants, and grants that a Rested grant has overwritten without changing the value.
func (p *placeState) standing() []*Grant {
	on := slices.Clone(p.current)
	for _, g := range p.overwritten {
		if g.Over != nil && g.Over.Rested && slices.Contains(on, g.Over) {
			on = append(on, g)
		}
	}
	slices.SortFunc(on, bySeq)
	return on
}

func (r *reader) node(name string) *node {
	n := r.nodes[name]
	if n == nil {
		n = &node{name: name, keys: map[string]*keyState{}}
		r.nodes[name] = n
		r.order = append(r.order, n)
	}
	return n
}

func (n *node) key(name string) *keyState {
	k := n.keys[name]
	if k == nil {
		k = &keyState{places: map[string]*placeState{}}
		n.keys[name] = k
	}
	return k
}

// clear makes the key absent.
func (k *keyState) clear() {
	clear(k.places)
	*k = keyState{places: k.places}
}

// enqueue gives each node its executed commands and its changes, in the node's order.
func (r *reader) enqueue() {
	commands := map[string][]int{}
	for pos, c := range r.Commands {
		r.node(c.Node)
		if r.primary == "" {
			r.primary = c.Node
		}
		if c.Exec > 0 {
			commands[c.Node] = append(commands[c.Node], pos)
		}
	}
	changes := map[string][]int{}
	for i, c := range r.Evidence.Keys {
		r.node(c.Node)
		changes[c.Node] = append(changes[c.Node], i)
	}
	for _, n := range r.order {
		ran := commands[n.name]
		slices.SortStableFunc(ran, func(a, b int) int { return cmp.Compare(r.Commands[a].Exec, r.Commands[b].Exec) })
		r.merge(n, ran, changes[n.name])
	}
}

// merge builds the node's items from its commands and changes, both in the node's order. A change
// that no command made, or whose command was not recorded, is an item without a command.
func (r *reader) merge(n *node, ran, changes []int) {
	n.items = make([]item, 0, len(ran)+len(changes))
	for len(ran) > 0 || len(changes) > 0 {
		if len(changes) > 0 {
			c := r.Evidence.Keys[changes[0]]
			if len(ran) == 0 || c.Exec < r.Commands[ran[0]].Exec || r.ahead(changes, r.Commands[ran[0]].Exec) {
				n.items = append(n.items, item{cmd: -1, changes: changes[:1], at: Clip(c.From)})
				changes = changes[1:]
				continue
			}
		}
		x := item{cmd: ran[0]}
		ran = ran[1:]
		did := 0
		for did < len(changes) {
			if c := &r.Evidence.Keys[changes[did]]; c.By != history.ByCommand || c.Exec != r.Commands[x.cmd].Exec {
				break
			}
			did++
		}
		x.changes, changes = changes[:did:did], changes[did:]
		r.Effects[x.cmd] = x.changes
		n.items = append(n.items, x)
	}
}

// ahead reports whether the first of these changes happened during the node's command
// number exec, but before that command changed anything. An example is a key that expired
// while the command ran.
func (r *reader) ahead(changes []int, exec int) bool {
	for i, at := range changes {
		switch c := r.Evidence.Keys[at]; {
		case c.Exec != exec:
			return false
		case c.By == history.ByCommand:
			return i > 0
		}
	}
	return false
}

// bound computes bounds of each command's execution time. If the end of a command was not
// recorded, the start of the node's next command or change bounds it.
func (r *reader) bound() {
	r.ran = make([]When, len(r.Commands))
	end := r.end()
	for pos, c := range r.Commands {
		lo := Clip(cmp.Or(c.Arrived, c.Sent))
		r.ran[pos] = When{lo, max(lo, Clip(cmp.Or(c.Served, c.Replied, end)))}
	}
	for _, n := range r.order {
		next := end
		for i := len(n.items) - 1; i >= 0; i-- {
			x := &n.items[i]
			if x.cmd < 0 {
				next = min(next, x.at)
				continue
			}
			w := &r.ran[x.cmd]
			if r.Commands[x.cmd].Served == 0 {
				w.Hi = max(w.Lo, next)
			}
			if len(x.changes) > 0 {
				c := r.Evidence.Keys[x.changes[0]]
				*w = When{max(w.Lo, Clip(c.From)), max(w.Lo, Clip(c.From), min(w.Hi, Clip(c.To)))}
			}
			x.at, next = w.Lo, w.Lo
		}
	}
}

// end returns the latest recorded time.
func (r *reader) end() (end time.Duration) {
	for _, op := range r.Ops {
		end = max(end, op.Time)
	}
	for _, c := range r.Commands {
		end = max(end, Clip(c.Sent), Clip(c.Arrived), Clip(c.Served), Clip(c.Replied))
	}
	return end
}

// walk goes through all items and the events of the nemesis in order of time.
func (r *reader) walk() {
	next := 0
	for {
		n := r.earliest()
		for next < len(r.Ops) && (n == nil || r.Ops[next].Time <= n.items[0].at) {
			r.event(r.Ops[next])
			next++
			n = r.earliest()
		}
		if n == nil {
			return
		}
		r.step(n)
	}
}

func (r *reader) earliest() *node {
	var first *node
	for _, n := range r.order {
		if len(n.items) > 0 && (first == nil || n.items[0].at < first.items[0].at) {
			first = n
		}
	}
	return first
}

func (r *reader) step(n *node) {
	x := n.items[0]
	n.items = n.items[1:]
	if _, blind := r.Unseen[n.name]; blind {
		return
	}
	if x.cmd < 0 {
		r.take(n, x.changes[0], -1)
		return
	}
	met := r.meet(n, x)
	for _, i := range x.changes {
		r.take(n, i, x.cmd)
	}
	switch {
	case !r.resting[x.cmd]:
	case r.wasRefused(n, x.cmd, met):
		r.Refused[r.Commands[x.cmd].Op] = x.cmd
	default:
		r.rest(n, x.cmd, met)
	}
}

// rest makes the grants of an acquire that succeeded but changed no value; it may have changed a
// TTL. The acquire relied on the existing value or wrote the same value again; the evidence
// does not tell which. If other clients handed places to the acquiring client, the acquire
// relied on these places. met has the existing keys that the acquire's command at pos reached.
func (r *reader) rest(n *node, pos int, met []string) {
	c := r.Commands[pos]
	handed := false
	for _, name := range met {
		for _, at := range n.keys[name].handedTo(c.Client) {
			r.restOn(n, n.keys[name], name, at, pos)
			handed = true
		}
	}
	if handed {
		return
	}
	for _, name := range met {
		if k := n.keys[name]; k.content != nil {
			r.restOn(n, k, name, Spots(k.content)[0], pos)
		}
	}
}

// restOn makes the grant of an acquire that succeeded but changed no value. The grant overwrites the
// current grants of the place.
func (r *reader) restOn(n *node, k *keyState, name string, at Spot, pos int) {
	c := r.Commands[pos]
	r.endEmptied(k.places[at.Name])
	g := r.grantTo(n, k, name, at, actor{pos: pos, client: c.Client, op: c.Op, at: r.ran[pos]})
	g.Rested = true
	p := k.places[at.Name]
	p.overwrite(g)
}

// handedTo returns the places that carry a grant which another client handed to the given client.
func (k *keyState) handedTo(client int) (at []Spot) {
	for _, s := range Spots(k.content) {
		p := k.places[s.Name]
		if p != nil && slices.ContainsFunc(p.current, func(g *Grant) bool { return g.Handed && g.Client == client }) {
			at = append(at, s)
		}
	}
	return at
}

// carried returns the grants that the key carries, in order of Seq.
func (k *keyState) carried() (on []*Grant) {
	for _, p := range k.places {
		on = append(on, p.current...)
	}
	slices.SortFunc(on, bySeq)
	return on
}

// everything returns the grants that the key carries and those that were overwritten since
// the key was created, in order of Seq.
func (k *keyState) everything() (all []*Grant) {
	for _, p := range k.places {
		all = append(all, p.all()...)
	}
	slices.SortFunc(all, bySeq)
	return all
}

func bySeq(a, b *Grant) int { return cmp.Compare(a.Seq, b.Seq) }

// due returns the time at which the key's term ends. If a jump of the clock ended the term,
// due returns the time of the jump.
func (k *keyState) due() When {
	return When{max(k.term.Expiry.Lo, k.jumped), max(k.term.Expiry.Hi, k.jumped)}
}

func (r *reader) tick() int {
	r.seq++
	return r.seq
}

// close ends all grants whose keys expire before the history ends.
func (r *reader) close() {
	end := r.end()
	for _, n := range r.order {
		for _, k := range n.sorted() {
			if k.content != nil && k.term.Mortal && k.due().Hi < end {
				r.empty(k, End{How: Expired, Cmd: -1, Event: -1, At: k.due()})
			}
		}
	}
}
