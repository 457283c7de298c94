package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// scriptFlush empties the nodes' script caches between calls, so that the next EVALSHA
// fails with NOSCRIPT. The number of discarded scripts is the proof.
//
// A recipe that runs no scripts counts as not supported, rather than as not exercised: more
// trials could never exercise it.
var scriptFlush = Fault{
	Name:       "script-flush",
	Doc:        "SCRIPT FLUSH between calls: the next EVALSHA gets NOSCRIPT",
	Color:      "#455a64",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Impossible: func(w World) *Unsupported {
		if !w.Scripts {
			return &Unsupported{Why: NoScripts}
		}
		return nil
	},
	Plans:     drawnFlushes,
	schedules: namedFlushes,
	effect:    history.Flushed,
	aim:       aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
		hits := 0
		for _, node := range s.action.Nodes {
			n, err := s.env.(testbed.Nodes).FlushScripts(ctx, node)
			if err != nil {
				return nil, fmt.Errorf("flush the scripts of %s: %w", node, err)
			}
			hits += n
		}
		return func(context.Context) (result, error) {
			i := s.impact()
			i.Scripts = hits
			return result{hits, i}, nil
		}, nil
	},
}

func drawnFlushes(w World, r *rand.Rand) []Plan {
	d := w.draw()
	gone := func(spots []spot, idea string) {
		d.add(spots, "scripts are gone "+idea, func(m *move) {
			m.Nodes, m.cost, m.gap = w.Nodes, w.TTL/20, w.TTL/4
		})
	}
	gone(w.firstCommand(testbed.Before, testbed.StepAcquire), "as a client asks")
	gone(w.firstCommand(testbed.Before, testbed.StepRelease), "as the holder releases")
	gone(w.renewals(testbed.Before), "as the holder renews")
	gone(w.halfway(testbed.Before, testbed.StepAcquire), "in the middle of an acquire")
	gone(w.halfway(testbed.Before, testbed.StepRelease), "in the middle of a release")
	gone(begins(testbed.StepHold), "while the lock is held")
	return d.plans(4, r)
}

// namedFlushes empties the script caches before each command and while the lock is held.
func namedFlushes(w World) []Schedule {
	e := w.enumerate()
	for _, s := range w.everywhere() {
		e.add(w.one(), s, "", "scripts are gone", func(a *Action) { a.Nodes = w.Nodes })
	}
	return e.all
}
