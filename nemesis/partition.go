package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// A partition cuts clients off from nodes, usually for longer than the lease: the client at the
// chosen point, all other clients, or each client from a different minority of nodes.
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
		Plans:      func(w World, r *rand.Rand) []Plan { return drawnPartitions(w, r, d) },
		schedules:  func(w World) []Schedule { return namedPartitions(w, d) },
		effect:     history.Cut,
		aim:        aimAtLinks,
		inject:     linkFault(testbed.Network.Cut),
	}
}

func drawnPartitions(w World, r *rand.Rand, direction testbed.Direction) []Plan {
	d := w.draw()
	cutOff := func(spots []spot, idea string, nodes []string, more func(*Action)) {
		d.add(spots, idea, func(m *move) {
			m.Nodes, m.Direction, m.For, m.gap = nodes, direction, w.outlast(), w.TTL/5
			more(&m.Action)
		})
	}
	own := func(*Action) {} // strikes the client at the spot
	cutOff(w.renewals(testbed.Before), "the holder is cut off as it renews", w.Nodes, own)
	for i, set := range w.parts() {
		cutOff(begins(testbed.StepHold), "the holder is cut from "+set.words, set.nodes, own)
		if i > 0 {
			continue
		}
		cutOff(w.firstCommand(testbed.Before, testbed.StepAcquire), "cut from "+set.words+" as it asks", set.nodes, own)
		cutOff(w.halfway(testbed.Before, testbed.StepAcquire), "cut from "+set.words+" with its acquire half done", set.nodes, own)
		cutOff(w.firstCommand(testbed.Before, testbed.StepRelease), "cut from "+set.words+" as it releases", set.nodes, own)
	}
	if ring := w.ring(); ring != nil {
		d.add(begins(testbed.StepHold), "each client reaches another majority", func(m *move) {
			m.Nodes, m.Links, m.Direction, m.For = nil, ring, direction, w.outlast()
		})
	}
	cutOff(w.firstCommand(testbed.Before, testbed.StepRelease), "the waiting clients are cut off as the holder releases", w.Nodes,
		func(a *Action) { a.Others = w.crowd().everyone() })
	return d.plans(2, r)
}

// namedPartitions cuts off one client, or two, for longer than the lease, at each command and at the
// beginning of each step in which the client believes that it holds the lock. Some schedules cut one
// client off only briefly, at each command. Other schedules cut off all clients but the one that
// holds the lock, or cut off each client from a different minority of nodes.
func namedPartitions(w World, d testbed.Direction) []Schedule {
	e := w.enumerate()
	add := func(l lineup, s spot, part part, variant, idea string, others []int, length time.Duration) {
		e.add(l, s, join(part.label, variant), idea+part.words, func(a *Action) {
			a.Nodes, a.Direction, a.For, a.Others = part.nodes, d, length, others
		})
	}
	one := w.one()
	for _, s := range w.everywhere() {
		for _, part := range w.partsAt(s) {
			for _, l := range w.oneAndTwoStruck() {
				add(l, s, part, "", "is cut off for longer than the lease from ", nil, w.outlast())
			}
			if s.n > 0 {
				add(one, s, part, "short", "is cut off for a moment from ", nil, w.brief())
			}
		}
	}
	all := part{words: "all nodes", nodes: w.Nodes}
	for _, s := range append(begins(testbed.StepHold), w.releases()...) {
		add(one, s, all, "others", "the others are cut off from ", one.everyone(), w.outlast())
	}
	w.Clients = trio.clients
	if ring := w.ring(); ring != nil {
		for _, s := range begins(testbed.StepHold, testbed.StepRest) {
			e.add(trio, s, "ring", "each client reaches another majority", func(a *Action) {
				a.Nodes, a.Links, a.Direction, a.For = nil, ring, d, w.outlast()
			})
		}
	}
	return e.all
}
