package nemesis

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// chaos mixes the other faults. Each seed turns on some of them, and varies where, when, how long
// and how often they strike. chaos finds combinations that no single fault covers. Unless the nodes
// are independent, the trial has replicas if the testbed can provide them, so that failovers can
// take part.
var chaos = Fault{
	Name:  "chaos",
	Doc:   "a mix, drawn from the seed, of the other faults that testbed and topology allow",
	Color: "#212121",
	Mix:   true,
	Topologies: func(t locks.Topology) []testbed.Topology {
		return append(withReplicas(t), sameTopology(t)...)
	},
	Impossible: func(w World) *Unsupported {
		if len(w.disturbances()) == 0 {
			return &Unsupported{Why: NothingDisturbed}
		}
		return nil
	},
	Plans: drawnMixes,
}

// disturbances returns the faults that can strike in this world.
func (w World) disturbances() []Fault {
	return slices.DeleteFunc(slices.Clone(disturbances), func(f Fault) bool {
		fits := slices.Contains(w.suits(f), w.Topology)
		return !fits || len(f.missing(w.Capabilities)) > 0 || f.impossible(w) != nil
	})
}

// suits returns the topologies in which f can strike a recipe that runs in this world. A fault that
// strikes a single node can also strike a primary.
func (w World) suits(f Fault) []testbed.Topology {
	if w.Topology == testbed.Independent {
		return f.Topologies(locks.Independent)
	}
	suits := f.Topologies(locks.Single)
	if slices.Contains(suits, testbed.Single) {
		suits = append(suits, testbed.Replicated, testbed.Sentinel, testbed.Cluster)
	}
	return suits
}

// drawnMixes returns one plan, or none if no fault can strike.
func drawnMixes(w World, r *rand.Rand) []Plan {
	m := mixer{World: w, r: r, samples: map[string][]Action{}}
	var able []Fault
	for _, f := range w.disturbances() {
		for _, p := range f.variants(w, r) {
			m.samples[f.Name] = append(m.samples[f.Name],
				slices.DeleteFunc(slices.Clone(p), func(a Action) bool { return a.Fault != f.Name })...)
		}
		if len(m.samples[f.Name]) > 0 {
			able = append(able, f)
		}
	}
	if len(able) == 0 {
		return nil
	}
	m.durability = []testbed.Durability{testbed.Volatile, testbed.EverySec, testbed.Always}[r.IntN(3)]
	m.pace, m.most = w.TTL/10<<r.IntN(5), 2+r.IntN(4)
	m.mortal = r.Perm(w.Clients)[:min(w.Clients-1, max(1, w.Clients-2))] // leaves two clients alive, or one if there are only one or two
	m.alive = w.crowd().everyone()
	p := Plan{}
	for _, track := range tracks(swarm(able, r)) {
		p = append(p, m.fill(track)...)
	}
	slices.SortStableFunc(p, func(a, b Action) int { return cmp.Compare(a.At, b.At) })
	number(p)
	return []Plan{p}
}

// swarm chooses about a quarter, a half or three quarters of the faults, but at least two
// if possible: the trigger of a single fault may never come.
func swarm(faults []Fault, r *rand.Rand) []Fault {
	sure, share := r.IntN(len(faults)), 1+r.IntN(3)
	var on []Fault
	for i, f := range faults {
		if r.IntN(4) < share || i == sure || i == (sure+1)%len(faults) {
			on = append(on, f)
		}
	}
	return on
}

// tracks puts all faults of nodes on one track, since no two of them may be in force at the
// same time. Every other fault has its own track. On a track an action ends before the next
// one starts.
func tracks(faults []Fault) [][]Fault {
	var nodes []Fault
	var all [][]Fault
	for _, f := range faults {
		if f.ofNodes() {
			nodes = append(nodes, f)
		} else {
			all = append(all, []Fault{f})
		}
	}
	if len(nodes) > 0 {
		all = append(all, nodes)
	}
	return all
}

// ofNodes reports whether the fault strikes nodes themselves.
func (f Fault) ofNodes() bool {
	return slices.ContainsFunc(f.Needs, func(c testbed.Capability) bool {
		return c != testbed.CanNetwork && c != testbed.CanClocks && c != testbed.CanClients
	})
}

// promotes reports whether the fault makes a replica the primary.
func (f Fault) promotes() bool {
	suits := f.Topologies(locks.Single)
	return slices.Contains(suits, testbed.Replicated) && !slices.Contains(suits, testbed.Single)
}

// number gives the actions their IDs. Each action waits until its predecessor on the same track is
// healed, however long that takes on a slow testbed.
func number(p Plan) {
	last := map[string]int{}
	for i := range p {
		track := p[i].Fault
		if slices.ContainsFunc(disturbances, func(f Fault) bool { return f.Name == track && f.ofNodes() }) {
			track = "nodes"
		}
		p[i].ID, p[i].After = i+1, last[track]
		last[track] = i + 1
	}
}

// mixer makes one plan of chaos.
type mixer struct {
	World
	r          *rand.Rand
	samples    map[string][]Action // by fault: actions from that fault's plans
	durability testbed.Durability
	pace       time.Duration // the average pause between two actions of a track is pace plus TTL/20
	most       int           // maximum number of actions on a track
	mortal     []int         // clients that a deadly action may still strike
	alive      []int         // clients that no deadly action strikes so far
}

// fill returns a track's actions, one after another. A promotion ends its track, because
// the clients then use another node.
func (m *mixer) fill(track []Fault) []Action {
	var all []Action
	at := m.upTo(min(m.TTL, m.Duration/2))
	for n := 1 + m.r.IntN(m.most); len(all) < n; {
		f := track[m.r.IntN(len(track))]
		a, ok := m.vary(f)
		if !ok {
			return all
		}
		var patience time.Duration
		if a.Point != nil {
			patience = min(m.wait()+m.upTo(m.TTL), m.Duration-a.length())
		}
		if room := m.Duration - patience - a.length(); at > room {
			if len(all) > 0 {
				return all
			}
			at = room
		}
		a.At, a.By = at, at+patience
		at = a.By + a.length() + m.TTL/20 + m.upTo(2*m.pace)
		all = append(all, a)
		if f.promotes() {
			return all
		}
	}
	return all
}

// vary returns a variation of one of the fault's own actions, or false if the fault is deadly and no
// client is left that may die. Apart from its Away, the action is never longer than its sample,
// which fits the trial.
func (m *mixer) vary(f Fault) (Action, bool) {
	samples := m.samples[f.Name]
	a := samples[m.r.IntN(len(samples))]
	a.ID, a.At, a.By, a.After, a.Delay = 0, 0, 0, 0, 0
	a.Point = m.anywhere(a.Point)
	client := m.alive[m.r.IntN(len(m.alive))]
	if f.deadly {
		if len(m.mortal) == 0 {
			return a, false
		}
		client, m.mortal = m.mortal[0], m.mortal[1:]
		m.alive = slices.DeleteFunc(slices.Clone(m.alive), func(c int) bool { return c == client })
		if a.Point != nil {
			victim := *a.Point
			victim.Clients = []int{client}
			a.Point = &victim
		}
	}
	m.place(&a, f, client)
	m.size(&a, f)
	if a.Durability != "" {
		a.Durability = m.durability
	}
	m.stayAway(&a)
	return a, true
}

// place decides when an action that varies a sample strikes: when a client reaches the sample's spot
// for the first or a later time, or at any moment. An action at any moment strikes the given client,
// unless its fault strikes only nodes or the sample lists its links. An action that does not wait
// for a command may strike other nodes than the sample.
func (m *mixer) place(a *Action, f Fault, client int) {
	aimed := a.Point != nil && a.Point.N > 0 // strikes at a command
	if a.Point != nil && !a.OneConn && m.r.IntN(3) == 0 {
		a.Arm, a.Point, aimed = nil, nil, false
		a.Idea = "at some moment"
	}
	switch {
	case a.Point != nil:
		point := *a.Point
		point.Skip = m.r.IntN(3)
		a.Point = &point
	case len(a.Links) == 0 && (!f.ofNodes() || f.promotes()):
		a.Client = client
	}
	a.Arm, a.Until = m.anywhere(a.Arm), m.anywhere(a.Until)
	if n := len(m.Nodes); n > 1 && !aimed && len(a.Nodes) > 0 {
		first := m.r.IntN(n)
		nodes := make([]string, len(a.Nodes))
		for i := range nodes {
			nodes[i] = m.Nodes[(first+i)%n]
		}
		slices.SortFunc(nodes, byNode)
		a.Nodes = nodes
	}
}

// anywhere removes the node from a trigger in a replicated topology, where another node may
// become the one that all clients use.
func (m *mixer) anywhere(t *Trigger) *Trigger {
	if t == nil || m.Topology != testbed.Replicated {
		return t
	}
	moved := *t
	moved.Node = ""
	return &moved
}

// size decides how long an action is in force and how wrong a clock is. A promotion keeps
// its Until.
func (m *mixer) size(a *Action, f Fault) {
	switch length := a.length(); {
	case length == 0:
	case a.Until == nil:
		a.For = length/10 + m.upTo(length-length/10)
	case !f.promotes() && m.r.IntN(3) == 0:
		a.Until, a.Limit = nil, 0
		a.For = length/10 + m.upTo(length-length/10)
	}
	a.Offset = a.Offset / 100 * time.Duration(50+m.r.IntN(101))
}

// upTo returns a random time of at most d.
func (m *mixer) upTo(d time.Duration) time.Duration {
	return time.Duration(m.r.Int64N(int64(max(0, d)) + 1))
}
