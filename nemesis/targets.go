package nemesis

import (
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lineup lists the clients that take part in a plan and those that are struck.
type lineup struct {
	name    string // "1of2": one of two clients is struck
	clients int
	// struck has one entry for each action: the clients that the action may strike. The action
	// strikes one of these clients.
	struck [][]int
}

// Line-ups of schedules. With two struck clients, each has its own action; a third client
// is not struck.
var (
	alone   = lineup{"1of1", 1, [][]int{{0}}}
	pair    = lineup{"1of2", 2, [][]int{{0, 1}}}
	trio    = lineup{"1of3", 3, [][]int{{0, 1, 2}}}
	twoDown = lineup{"2of3", 3, [][]int{{0}, {1}}}
)

// crowd returns the line-up of drawn plans: any one of the world's clients is struck.
func (w World) crowd() lineup {
	return lineup{clients: w.Clients, struck: [][]int{clientsTo(w.Clients)}}
}

// one returns the smallest line-up that can show the effect of striking one client. A
// read-write lock needs three: a struck reader, another reader and a writer.
func (w World) one() lineup {
	if w.Claims.ReadWrite {
		return trio
	}
	return pair
}

// oneAndTwoStruck returns the line-ups with one and with two struck clients.
func (w World) oneAndTwoStruck() []lineup { return []lineup{w.one(), twoDown} }

// lineups returns three line-ups: one client of several is struck, two clients are struck, and a client
// without rivals is struck. The last one is omitted at late commands of an acquire, which only a
// waiting client sends.
func (w World) lineups(s spot) []lineup {
	if s.step == testbed.StepAcquire && s.n > 2 {
		return w.oneAndTwoStruck()
	}
	return append(w.oneAndTwoStruck(), alone)
}

// everyone lists the clients.
func (l lineup) everyone() []int { return clientsTo(l.clients) }

// anyone returns the trigger set off by the first client to begin a step.
func (l lineup) anyone(step string) *Trigger { return beginning(step).trigger(l.everyone()) }

// others returns the trigger set off when a client that is not struck begins a step.
func (l lineup) others(step string) *Trigger {
	if len(l.struck) > 1 {
		return beginning(step).trigger(l.everyone()[len(l.struck):])
	}
	t := l.anyone(step)
	t.Who = Other
	return t
}

// itself returns the trigger set off when the struck client begins a step.
func (l lineup) itself(step string) *Trigger {
	t := l.anyone(step)
	t.Who = Same
	return t
}

func clientsTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// part is a set of nodes with its label for a schedule's name, such as "majority", and its words
// for an idea, such as "a majority of nodes".
type part struct {
	label, words string
	nodes        []string
}

// quorum returns how many nodes must grant the lock.
func (w World) quorum() int { return min(max(1, w.Claims.Quorum), len(w.Nodes)) }

// parts returns the sets of nodes that are struck together, the most telling first.
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

// oneNode returns the part that consists of the first node alone.
func (w World) oneNode() part { return part{"one", "one node", w.Nodes[:1]} }

// partsAt returns the sets of nodes that are struck at a spot. At a command there is one set: the
// command's node. The first command to the first node has a majority as a second set. At the
// beginning of a step all parts are returned.
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

// together returns as many nodes as must be struck together to affect the lock.
func (w World) together() part {
	all := w.parts()[0]
	all.label = ""
	return all
}

// reach makes an action strike a majority of nodes if the action waits for the first command to the
// first node: a single node would be outvoted.
func (w World) reach(a *Action) {
	if len(w.Nodes) > 1 && a.Point.N == 1 && a.Point.Node == w.Nodes[0] {
		a.Nodes = w.together().nodes
	}
}

// ring returns links whose cut separates each client from a different minority of nodes, so
// that each client reaches a different majority; nil if there are too few nodes.
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

// exactQuorum cuts one client off from all but a quorum of nodes for the whole trial, and later
// strikes the last node of that quorum. Other clients reach the remaining nodes, and have a
// majority together with the struck node. The strike comes when keys from before the cut have
// expired.
func (e *enumeration) exactQuorum(s spot, variant, idea string, shape func(*Action)) {
	quorum := e.quorum()
	if len(e.Nodes) < 3 || quorum == len(e.Nodes) {
		return
	}
	if s.n > 0 && !slices.Contains(e.Nodes[:quorum], s.node) {
		return // the cut-off client never reaches that node
	}
	l := e.one()
	cutOff := Action{
		Fault: partitionName, Idea: "one client can get no more than a quorum", Client: history.NoClient,
		By: e.spotTimeout(), Direction: testbed.Both, For: 2*e.lease() + 2*e.TTL,
	}
	for _, node := range e.Nodes[quorum:] {
		cutOff.Links = append(cutOff.Links, testbed.Link{From: clientName(0), To: node})
	}
	last := e.at(s, idea+", the last of exactly a quorum", []int{0}, l)
	last.At = e.lease() + e.TTL/2
	last.Nodes, last.Quorum = e.Nodes[quorum-1:quorum], e.Claims.Quorum
	shape(&last)
	e.plan(l, scheduleName(s, join("quorum", variant)), cutOff, last)
}
