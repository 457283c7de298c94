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

// splitBrain promotes a replica for some clients while the others go on at the
// old primary, which does not know; then all are moved to the new one, and what
// the old one alone had is gone. The writes that it had acknowledged meanwhile
// are the proof.
//
// The split events are written before their deed: a command of a moved client runs at
// the new primary no earlier. The promote event is written after its deed: until then
// the old primary may serve those that stayed, and nobody after.
var splitBrain = Fault{
	Name:       "split-brain",
	Doc:        "the old primary lives on with some clients while the new one serves others",
	Color:      "#880e4f",
	Needs:      []testbed.Capability{testbed.CanSplitBrain},
	Topologies: withReplicas,
	Impossible: func(w World) Unsupported {
		if w.Clients < 2 {
			return Unsupported{Why: TooFewClients}
		}
		return unreplicated(w)
	},
	Plans:  splitBrainPlans,
	named:  namedSplits,
	effect: history.Parted,
	aim:    func(s *strike, w *history.Window) { w.Clients, w.Nodes = s.clients(), s.action.Nodes },
	inject: func(ctx context.Context, s *strike) (heal, error) {
		heir, moved := s.action.Nodes[0], s.clients()
		_, elects := s.env.(testbed.Elections) // which records by itself who serves whom
		for _, c := range moved {
			if elects {
				break
			}
			if err := s.event(history.Op{Client: c, F: history.FSplit, Node: heir}); err != nil {
				return nil, err
			}
		}
		unite, err := s.env.(testbed.SplitBrain).Split(ctx, heir, moved)
		if err != nil {
			return nil, fmt.Errorf("promote %s for some clients: %w", heir, err)
		}
		return func(ctx context.Context) (result, error) {
			i := s.lasted()
			if elects {
				s.letGo() // the election may be late
				hits, err := unite(ctx)
				i.Writes = hits
				return result{hits, i}, err
			}
			hits, err := unite(ctx)
			i.Writes = hits
			// The old primary serves until its last client has left it.
			perr := s.event(history.Op{Client: history.NoClient, F: history.FPromote, Node: heir})
			return result{hits, i}, errors.Join(err, perr)
		}, nil
	},
}

// unreplicated says why a fault that needs a replica cannot strike, nothing if it can.
func unreplicated(w World) Unsupported {
	if w.Topology != testbed.Replicated && !w.elects() {
		return Unsupported{Why: NoReplica, Topology: w.Topology}
	}
	return Unsupported{}
}

func splitBrainPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action, moved []int, atLeast time.Duration, until *Trigger) {
		a.Nodes, a.Others = []string{heirNode}, moved
		a.For, a.Until, a.Limit = atLeast, until, atLeast+3*w.TTL/2
		if w.elects() { // there are two primaries only after that, and leases of before are over
			a.For, a.Limit = electing, electing+w.TTL
		}
		moves = append(moves, move{Action: a})
	}
	// What the new primary heard of keeps out those that it serves: for a lease,
	// if the holder stayed at the old one. After that, both sides grant.
	leased := w.TTL + w.TTL/5
	same := func(step string) *Trigger {
		t := w.step(step)
		t.Who = Same
		return t
	}
	add(w.during("split-brain", "the holder stays at the old primary, the others are moved", testbed.StepHold), w.everyone(), leased, w.other(testbed.StepTouch))
	add(w.during("split-brain", "both primaries have a free lock to grant", testbed.StepRest), w.everyone(), w.TTL/2, same(testbed.StepHold))
	add(w.during("split-brain", "the holder is moved, the others stay at the old primary", testbed.StepHold), nil, leased, w.other(testbed.StepTouch))
	for _, p := range w.last(testbed.StepAcquire) {
		add(w.action("split-brain", "the holder stays, the new primary may not have heard of its grant", p, testbed.Replied), w.everyone(), 0, w.other(testbed.StepTouch))
	}
	for _, p := range w.last(testbed.StepRelease) {
		add(w.action("split-brain", "a release reaches the old primary only", p, testbed.Before), w.everyone(), w.TTL/10, w.other(testbed.StepTouch))
	}
	add(w.during("split-brain", "one client is moved while the lock is free, until another holds it", testbed.StepRest), nil, w.TTL/2, w.other(testbed.StepHold))
	return w.pack(moves, 1, r)
}
