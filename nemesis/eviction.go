package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// eviction puts nodes under memory pressure, so that they evict their keys. The evicted
// keys prove the effect; they are recorded before the node executes another command.
var eviction = Fault{
	Name:       "eviction",
	Doc:        "memory pressure makes a node evict its keys",
	Color:      "#3949ab",
	Needs:      []testbed.Capability{testbed.CanMemory},
	Topologies: sameTopology,
	Plans:      drawnEvictions,
	schedules:  namedEvictions,
	effect:     history.Evicted,
	aim:        aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
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

func drawnEvictions(w World, r *rand.Rand) []Plan {
	d := w.draw()
	sets := []part{w.together()}
	if len(w.Nodes) > 1 {
		sets = append(sets, w.oneNode())
	}
	for _, set := range sets {
		evicts := func(spots []spot, idea string) {
			d.add(spots, set.words+" evicts its keys "+idea, func(m *move) {
				m.Nodes, m.cost, m.gap = set.nodes, w.TTL/20, w.TTL/2
			})
		}
		evicts(begins(testbed.StepHold), "while the lock is held")
		evicts(w.lastCommand(testbed.Replied, testbed.StepAcquire), "when the lock is granted, before its client knows")
		evicts(w.renewals(testbed.Before), "as the holder renews")
		evicts(begins(testbed.StepTouch), "when the holder has checked its lease, before it touches the resource")
		evicts(w.firstCommand(testbed.Before, testbed.StepRelease), "as the holder releases")
		evicts(w.halfway(testbed.Before, testbed.StepAcquire), "in the middle of an acquire")
		evicts(w.halfway(testbed.Before, testbed.StepRelease), "in the middle of a release")
	}
	return d.plans(3, r)
}

// namedEvictions makes nodes evict their keys at each spot.
func namedEvictions(w World) []Schedule {
	e := w.enumerate()
	for _, s := range w.losing() {
		e.add(w.one(), s, "", w.together().words+" evicts its keys", func(a *Action) { a.Nodes = w.together().nodes })
	}
	for _, s := range w.holding() {
		e.exactQuorum(s, "", "one node evicts its keys", func(*Action) {})
	}
	e.slowly("evicts its keys", "", func(*Action) {})
	return e.all
}
