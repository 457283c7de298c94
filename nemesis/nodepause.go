package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// nodePause freezes Redis nodes. Commands that clients sent to a frozen node run when the node
// resumes, after keys have expired. The number of these commands is the proof.
var nodePause = Fault{
	Name:       "node-pause",
	Doc:        "Redis freezes for longer than the lease; commands that came meanwhile run when it thaws",
	Color:      "#00796b",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Plans:      drawnNodePauses,
	schedules:  namedNodePauses,
	// Where nodes elect a primary, they replace a primary that stays frozen for too long. When the
	// old primary resumes, there may be two primaries.
	provokes: []string{failover.Name, splitBrain.Name},
	effect:   history.Paused,
	aim:      aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
		undos, err := doAll(ctx, s.action.Nodes, func(node string) (testbed.Undo, error) {
			undo, err := s.env.(testbed.Nodes).Pause(ctx, node)
			if err != nil {
				err = fmt.Errorf("pause %s: %w", node, err)
			}
			return undo, err
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (result, error) {
			i := s.lasted()
			hits, err := undoAll(ctx, undos)
			i.Commands = hits
			return result{hits, i}, err
		}, nil
	},
}

func drawnNodePauses(w World, r *rand.Rand) []Plan {
	d := w.draw()
	sets := []part{w.together()}
	if n := len(w.Nodes); n > 1 {
		// A quorum should tolerate one node that hangs: the first plans try this.
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

// namedNodePauses freezes nodes at each command and at the beginning of each step in which
// a client believes that it holds the lock. The freeze lasts longer than the lease, or just
// longer than the clients' timeout.
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
	// The holder is late, but within its lease; meanwhile other clients ask for the lock. Then its
	// node, or a majority of independent nodes, freezes until the lease is over.
	l, all := w.one(), w.together()
	for _, s := range believing {
		slow := e.pause(s, "is late, but within its lease", []int{0}, l)
		slow.For = w.late()
		freeze := Action{
			Idea: all.words + " freezes for the rest of the lease", Client: history.NoClient,
			After: 1, By: 2 * e.spotTimeout(), Nodes: all.nodes, For: 2 * w.TTL / 5,
		}
		e.plan(l, scheduleName(s, "late"), slow, freeze)
	}
	return unique(e.all)
}
