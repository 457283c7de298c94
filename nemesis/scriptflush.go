package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// scriptFlush empties the nodes' script caches between calls, so that the next
// EVALSHA fails with NOSCRIPT. How many scripts were thrown away is the proof.
//
// On a lock that was seen to run no scripts it is not supported, rather than not exercised:
// no trial, however long, could ever exercise it, and a matrix should not ask
// for more trials.
var scriptFlush = Fault{
	Name:       "script-flush",
	Doc:        "SCRIPT FLUSH between calls: the next EVALSHA gets NOSCRIPT",
	Color:      "#455a64",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: sameTopology,
	Impossible: func(w World) Unsupported {
		if !w.Scripts {
			return Unsupported{Why: NoScripts}
		}
		return Unsupported{}
	},
	Plans:  scriptFlushPlans,
	named:  namedFlushes,
	effect: history.Flushed,
	aim:    aimAtNodes,
	inject: func(ctx context.Context, s *strike) (heal, error) {
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

func scriptFlushPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action) {
		a.Nodes = w.Nodes
		moves = append(moves, move{Action: a, cost: w.TTL / 20, gap: w.TTL / 4})
	}
	command := func(idea string, places []place) {
		for _, p := range places {
			add(w.action("script-flush", idea, p, testbed.Before))
		}
	}
	command("scripts are gone as a client asks", w.first(testbed.StepAcquire))
	command("scripts are gone as the holder releases", w.first(testbed.StepRelease))
	command("scripts are gone as the holder renews", w.renewals())
	command("scripts are gone in the middle of an acquire", w.between(testbed.StepAcquire))
	command("scripts are gone in the middle of a release", w.between(testbed.StepRelease))
	add(w.during("script-flush", "scripts are gone while the lock is held", testbed.StepHold))
	return w.pack(moves, 4, r)
}
