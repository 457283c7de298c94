package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// slotMigration moves a lock's slot to another master of a Redis Cluster, as an operator
// who adds a node does. Keys keep their values and expiry; cached scripts do not move. The
// moved keys are the proof.
var slotMigration = Fault{
	Name:       "slot-migration",
	Doc:        "the key's slot moves to another master while it is held: ASK, then MOVED, NOSCRIPT",
	Color:      "#4527a0",
	Needs:      []testbed.Capability{testbed.CanSlots},
	Topologies: inCluster,
	Impossible: func(w World) *Unsupported {
		if w.Topology != testbed.Cluster {
			return &Unsupported{Why: NoSlots, Topology: w.Topology}
		}
		return nil
	},
	Plans:  drawnMigrations,
	effect: history.SlotMoved,
	aim:    aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
		var fates []history.KeyFate
		giver, taker := s.action.Nodes[0], s.action.Nodes[1]
		at := s.env.Now()
		finish, err := s.env.(testbed.Slots).Migrate(ctx, giver, taker, func(from, to string, keys []history.KeyState) error {
			giver, taker, at = from, to, s.env.Now()
			for _, k := range keys {
				fates = append(fates, history.KeyFate{Node: from, Key: history.Bytes(k.Key), Fate: history.FateMoved})
			}
			return s.event(history.Op{Client: history.NoClient, F: history.FMigrate, Node: to, From: from, Keys: keys})
		})
		if err != nil {
			return nil, fmt.Errorf("move the slots of %s to %s: %w", giver, taker, err)
		}
		return func(ctx context.Context) (result, error) {
			hits, err := finish(ctx)
			i := s.impact()
			i.Keys = fates
			if hits > 0 {
				i.Handover = &history.Handover{From: giver, To: taker, At: at, Told: s.env.Now()}
			}
			return result{hits, i}, err
		}, nil
	},
}

// inCluster is the Fault.Topologies of faults that need a cluster's slots: independent nodes have
// none.
func inCluster(t locks.Topology) []testbed.Topology {
	if t != locks.Single && t != locks.Replicated {
		return nil
	}
	return []testbed.Topology{testbed.Cluster}
}

func drawnMigrations(w World, r *rand.Rand) []Plan {
	d := w.draw()
	moves := func(spots []spot, idea string) {
		d.add(spots, "the slot moves "+idea, func(m *move) {
			m.Nodes, m.For, m.gap = []string{"n0", "n1"}, w.TTL/5, w.TTL/2
		})
	}
	moves(begins(testbed.StepHold), "while the lock is held")
	moves(w.firstCommand(testbed.Before, testbed.StepRelease), "as the holder releases")
	moves(begins(testbed.StepTouch), "when the holder has checked its lease, before it touches the resource")
	moves(w.lastCommand(testbed.Replied, testbed.StepAcquire), "when the lock is granted, before its client knows")
	return d.plans(1, r)
}
