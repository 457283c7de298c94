package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// eviction puts nodes under memory pressure, so that they throw away what they
// have. The keys that went are the proof. What a node evicted is recorded before it
// executes anything without it.
var eviction = Fault{
	Name:       "eviction",
	Doc:        "memory pressure makes a node evict its keys",
	Color:      "#3949ab",
	Needs:      []testbed.Capability{testbed.CanMemory},
	Topologies: sameTopology,
	Plans:      evictionPlans,
	named:      namedEvictions,
	effect:     history.Evicted,
	aim:        aimAtNodes,
	inject: func(ctx context.Context, s *strike) (heal, error) {
		var fates []history.KeyFate
		for _, node := range s.action.Nodes {
			keys, err := s.env.(testbed.Memory).Evict(ctx, node, func(keys []history.KeyState) error {
				return s.event(history.Op{Client: history.NoClient, F: history.FEvict, Node: node, Keys: keys})
			})
			if err != nil {
				return nil, fmt.Errorf("evict the keys of %s: %w", node, err)
			}
			for _, k := range keys {
				fates = append(fates, history.KeyFate{Node: node, Key: history.Bytes(k.Key), Fate: history.FateEvicted})
			}
		}
		return func(context.Context) (result, error) {
			i := s.impact()
			i.Keys = fates
			return result{len(fates), i}, nil
		}, nil
	},
}

func evictionPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	sets := w.nodeSets()
	if len(sets) > 1 {
		sets = []nodeSet{sets[0], {"one node", w.Nodes[:1]}}
	}
	add := func(a Action, nodes []string) {
		a.Nodes = nodes
		moves = append(moves, move{Action: a, cost: w.TTL / 20, gap: w.TTL / 2})
	}
	for _, set := range sets {
		idea := set.name + " evicts its keys "
		add(w.during("eviction", idea+"while the lock is held", testbed.StepHold), set.nodes)
		for _, p := range w.last(testbed.StepAcquire) {
			add(w.action("eviction", idea+"when the lock is granted, before its client knows", p, testbed.Replied), set.nodes)
		}
		for _, p := range w.renewals() {
			add(w.action("eviction", idea+"as the holder renews", p, testbed.Before), set.nodes)
		}
		add(w.during("eviction", idea+"between look and touch", testbed.StepTouch), set.nodes)
		for _, p := range w.first(testbed.StepRelease) {
			add(w.action("eviction", idea+"as the holder releases", p, testbed.Before), set.nodes)
		}
		for _, p := range w.between(testbed.StepAcquire) {
			add(w.action("eviction", idea+"in the middle of an acquire", p, testbed.Before), set.nodes)
		}
		for _, p := range w.between(testbed.StepRelease) {
			add(w.action("eviction", idea+"in the middle of a release", p, testbed.Before), set.nodes)
		}
	}
	return w.pack(moves, 3, r)
}
