package nemesis

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// part is some of the nodes, as a schedule's name and idea call them.
type part struct {
	label, words string
	nodes        []string
}

// quorum is how many nodes must grant.
func (w World) quorum() int { return min(max(1, w.Claims.Quorum), len(w.Nodes)) }

// parts are the nodes that may be lost together, the most telling first.
func (w World) parts() []part {
	n, quorum := len(w.Nodes), w.quorum()
	if n == 1 {
		return []part{{"", "its node", w.Nodes}}
	}
	all := []part{{"majority", "a majority of nodes", w.Nodes[:quorum]}}
	if n-quorum > 1 {
		all = append(all, part{"minority", "a minority of nodes", w.Nodes[:n-quorum]})
	}
	return append(all, w.oneNode(), part{"all", "all nodes", w.Nodes})
}

// oneNode is the first of several nodes.
func (w World) oneNode() part { return part{"one", "one node", w.Nodes[:1]} }

// partsAt are the nodes, or the links to them, that are struck at a spot: the command's
// own node, and a majority where it is the first command to the first node; where a
// step begins, all parts.
func (w World) partsAt(s spot) []part {
	if len(w.Nodes) == 1 || s.n == 0 {
		return w.parts()
	}
	own := part{"", s.node, []string{s.node}}
	if s.n == 1 && s.node == w.Nodes[0] {
		return []part{own, w.parts()[0]}
	}
	return []part{own}
}

// together are the nodes that must be struck together to be missed by anybody.
func (w World) together() part {
	all := w.parts()[0]
	all.label = ""
	return all
}

// reach widens an action at the first command to the first of several nodes to a
// majority of them: one node alone would be outvoted.
func (w World) reach(a *Action) {
	if len(w.Nodes) > 1 && a.Point.N == 1 && a.Point.Node == w.Nodes[0] {
		a.Nodes = w.together().nodes
	}
}

// ring cuts each client from a minority of nodes, another one for each, so that each
// reaches a majority; nil if the nodes are too few.
func (w World) ring() []testbed.Link {
	n, quorum := len(w.Nodes), w.quorum()
	if n < 3 || quorum == n {
		return nil
	}
	var links []testbed.Link
	for c := range w.Clients {
		for i := range n - quorum {
			links = append(links, testbed.Link{From: clientName(c), To: w.Nodes[(c+quorum+i)%n]})
		}
	}
	return links
}

// exactQuorum cuts one client off from all nodes but a quorum for the whole trial, so
// that it has none to spare, and strikes the last of that quorum: with this node
// another client finds a majority. What was left on the nodes by then has expired.
func (e *enumeration) exactQuorum(s spot, variant, idea string, shape func(*Action)) {
	quorum := e.quorum()
	if len(e.Nodes) < 3 || quorum == len(e.Nodes) {
		return
	}
	if s.n > 0 && !slices.Contains(e.Nodes[:quorum], s.node) {
		return // its command never gets there
	}
	l := e.one()
	cutOff := Action{
		Fault: partitionName, Idea: "one client can get no more than a quorum", Client: history.NoClient,
		By: e.patience(), Direction: testbed.Both, For: 2*e.lease() + 2*e.TTL,
	}
	for _, node := range e.Nodes[quorum:] {
		cutOff.Links = append(cutOff.Links, testbed.Link{From: clientName(0), To: node})
	}
	last := e.at(s, idea+", the last of exactly a quorum", []int{0}, l)
	last.At = e.lease() + e.TTL/2
	last.Nodes, last.Quorum = e.Nodes[quorum-1:quorum], e.Claims.Quorum
	shape(&last)
	e.plan(l, named(s, join("quorum", variant)), cutOff, last)
}
