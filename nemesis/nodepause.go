package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// nodePause freezes Redis nodes. What clients sent meanwhile runs when they go
// on, with that time's expiry; how much that was is the proof.
var nodePause = Fault{
	Name:       "node-pause",
	Doc:        "Redis freezes longer than the lease; queued commands run at resume",
	Color:      "#00796b",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Plans:      nodePausePlans,
	named:      namedNodePauses,
	effect:     history.Paused,
	aim:        aimAtNodes,
	inject: func(ctx context.Context, s *strike) (heal, error) {
		var undos []testbed.Undo
		for _, node := range s.action.Nodes {
			undo, err := s.env.(testbed.Nodes).Pause(ctx, node)
			if err != nil {
				healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healing)
				defer cancel()
				_, uerr := undoAll(healing, undos)
				return nil, errors.Join(fmt.Errorf("pause %s: %w", node, err), uerr)
			}
			undos = append(undos, undo)
		}
		return func(ctx context.Context) (result, error) {
			i := s.lasted()
			hits, err := undoAll(ctx, undos)
			i.Commands = hits
			return result{hits, i}, err
		}, nil
	},
}

func nodePausePlans(w World, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action, nodes []string) {
		a.Nodes, a.For = nodes, w.outlast()
		moves = append(moves, move{Action: a, gap: w.TTL / 5})
	}
	sets := w.nodeSets()
	if len(sets) > 1 {
		// One node that hangs is what a quorum is there for.
		sets = []nodeSet{{"one node", w.Nodes[len(w.Nodes)-1:]}, sets[0]}
	}
	for _, set := range sets {
		for _, p := range w.first(testbed.StepAcquire) {
			add(w.action("node-pause", set.name+" freezes as a client asks", p, testbed.Before), set.nodes)
		}
		add(w.during("node-pause", set.name+" freezes while the lock is held", testbed.StepHold), set.nodes)
		for _, p := range w.first(testbed.StepRelease) {
			add(w.action("node-pause", set.name+" freezes as the holder releases", p, testbed.Before), set.nodes)
		}
	}
	return w.pack(moves, 2, r)
}
