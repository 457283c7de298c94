package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// nodePause freezes Redis nodes. What clients sent meanwhile runs when the nodes go on,
// with that time's expiry; the number of these commands is the proof.
var nodePause = Fault{
	Name:       "node-pause",
	Doc:        "Redis freezes longer than the lease; queued commands run at resume",
	Color:      "#00796b",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Plans:      nodePausePlans,
	named:      namedNodePauses,
	// A node that is frozen for longer than the others wait is replaced where nodes elect
	// a primary, and when it goes on there may be two.
	provokes: []string{failover.Name, splitBrain.Name},
	effect:   history.Paused,
	aim:      aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
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
	d := w.draw()
	sets := []part{w.together()}
	if n := len(w.Nodes); n > 1 {
		// One node that hangs is what a quorum is there for.
		sets = []part{{words: "one node", nodes: w.Nodes[n-1:]}, w.together()}
	}
	for _, set := range sets {
		freezes := func(spots []spot, idea string) {
			d.add(spots, set.words+" freezes "+idea, func(m *move) {
				m.Nodes, m.For, m.gap = set.nodes, w.outlast(), w.TTL/5
			})
		}
		freezes(w.firstCommand(testbed.Before, testbed.StepAcquire), "as a client asks")
		freezes(begins(testbed.StepHold), "while the lock is held")
		freezes(w.firstCommand(testbed.Before, testbed.StepRelease), "as the holder releases")
	}
	return d.plans(2, r)
}

// namedNodePauses freeze nodes at each command and at the beginning of each step in which
// a client believes that it holds the lock: for longer than the lease, and for just
// longer than their clients wait.
func namedNodePauses(w World) []Schedule {
	e := w.enumerate()
	add := func(l lineup, s spot, part part, variant, idea string, length time.Duration) {
		e.add(l, s, join(part.label, variant), part.words+" freezes for longer than "+idea, func(a *Action) {
			a.Nodes, a.For = part.nodes, length
		})
	}
	for _, s := range w.everywhere() {
		for _, part := range w.partsAt(s) {
			add(w.one(), s, part, "", "the lease", w.outlast())
			add(w.one(), s, part, "short", "its clients wait", w.timeout()+w.TTL/5)
			add(trio, s, part, "", "the lease, with more clients than one waiting", w.outlast())
		}
	}
	// A client is late, but within its lease, when its node freezes for what is left of
	// the lease: others ask before it gives the lock back.
	l, all := w.one(), w.together()
	for _, s := range believing {
		slow := e.pause(s, "is late, but within its lease", []int{0}, l)
		slow.For = w.late()
		freeze := Action{
			Idea: all.words + " freezes for what is left of the lease", Client: history.NoClient,
			After: 1, By: 2 * e.patience(), Nodes: all.nodes, For: 2 * w.TTL / 5,
		}
		e.plan(l, named(s, "late"), slow, freeze)
	}
	return unique(e.all)
}
