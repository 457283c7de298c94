package nemesis

import (
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// A partition cuts clients from nodes, longer than the lease: the clients that
// are at a telling place, or all others.
var (
	partition = partitionFault(partitionName, "clients and nodes cut from each other, longer than the lease",
		"#1976d2", testbed.Both)
	partitionRequests = partitionFault("partition-requests", "requests cut off, replies still come, longer than the lease",
		"#0288d1", testbed.Upstream)
	partitionReplies = partitionFault("partition-replies", "replies cut off, requests still arrive and run, longer than the lease",
		"#0097a7", testbed.Downstream)
)

func partitionFault(name, doc, color string, d testbed.Direction) Fault {
	return Fault{
		Name: name, Doc: doc, Color: color,
		Needs:      []testbed.Capability{testbed.CanNetwork},
		Topologies: sameTopology,
		Plans:      func(w World, r *rand.Rand) []Plan { return partitionPlans(w, r, name, d) },
		named:      func(w World) []Schedule { return namedPartitions(w, name, d) },
		effect:     history.Cut,
		aim:        aimAtLinks,
		inject:     linkFault(cut),
	}
}

func partitionPlans(w World, r *rand.Rand, fault string, d testbed.Direction) []Plan {
	var moves []move
	add := func(a Action, nodes []string) {
		a.Nodes, a.Direction, a.For = nodes, d, w.outlast()
		moves = append(moves, move{Action: a, gap: w.TTL / 5})
	}
	for _, p := range w.renewals() {
		add(w.action(fault, "the holder is cut off as it renews", p, testbed.Before), w.Nodes)
	}
	sets := w.nodeSets()
	for i, set := range sets {
		add(w.during(fault, "the holder is cut from "+set.name, testbed.StepHold), set.nodes)
		if i > 0 {
			continue
		}
		for _, p := range w.first(testbed.StepAcquire) {
			add(w.action(fault, "cut from "+set.name+" as it asks", p, testbed.Before), set.nodes)
		}
		for _, p := range w.between(testbed.StepAcquire) {
			add(w.action(fault, "cut from "+set.name+" with its acquire half done", p, testbed.Before), set.nodes)
		}
		for _, p := range w.first(testbed.StepRelease) {
			add(w.action(fault, "cut from "+set.name+" as it releases", p, testbed.Before), set.nodes)
		}
	}
	if ring := w.ring(); ring != nil {
		moves = append(moves, move{Action: Action{
			Fault: fault, Idea: "each client reaches another majority", Client: history.NoClient,
			Point: w.step(testbed.StepHold), Links: ring, Direction: d, For: w.outlast(),
		}})
	}
	for _, p := range w.first(testbed.StepRelease) {
		a := w.action(fault, "the waiting clients are cut off as the holder releases", p, testbed.Before)
		a.Others = w.everyone()
		add(a, w.Nodes)
	}
	return w.pack(moves, 2, r)
}

// nodeSet is some of the nodes.
type nodeSet struct {
	name  string
	nodes []string
}

// nodeSets are the parts of the world that may be lost together, the most
// telling first.
func (w World) nodeSets() []nodeSet {
	n := len(w.Nodes)
	if n == 1 {
		return []nodeSet{{"its node", w.Nodes}}
	}
	quorum := min(max(1, w.Claims.Quorum), n)
	sets := []nodeSet{{"a majority of nodes", w.Nodes[:quorum]}}
	if n-quorum > 1 {
		sets = append(sets, nodeSet{"a minority of nodes", w.Nodes[:n-quorum]})
	}
	return append(sets, nodeSet{"one node", w.Nodes[:1]}, nodeSet{"all nodes", w.Nodes})
}

// ring cuts each client from a minority of nodes, another one for each, so that
// each reaches a majority; nil if the nodes are too few.
func (w World) ring() []testbed.Link {
	n := len(w.Nodes)
	quorum := max(1, w.Claims.Quorum)
	if n < 3 || n-quorum < 1 {
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
