package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// splitBrain promotes a replica for some clients while the other clients still use the old primary,
// which does not know of the promotion. Then all clients move to the new primary, and the old
// primary's own writes are lost. The writes that the old primary acknowledged during the
// split are the proof.
//
// The split event of a client is recorded before the client moves, so the event precedes all of
// the client's commands to the new primary. The promote event is recorded after the last client
// has moved, so the old primary serves nobody after it.
var splitBrain = Fault{
	Name:       "split-brain",
	Doc:        "the old primary lives on with some clients while the new one serves others",
	Color:      "#880e4f",
	Needs:      []testbed.Capability{testbed.CanSplitBrain},
	Topologies: withReplicas,
	Impossible: func(w World) *Unsupported {
		if w.Clients < 2 {
			return &Unsupported{Why: TooFewClients}
		}
		return unreplicated(w)
	},
	Plans:     drawnSplits,
	schedules: namedSplits,
	effect:    history.Parted,
	aim:       func(s *injection, w *history.Window) { w.Clients, w.Nodes = s.clients(), s.action.Nodes },
	inject: func(ctx context.Context, s *injection) (heal, error) {
		heir, moved := s.action.Nodes[0], s.clients()
		_, elects := s.env.(testbed.Elections) // a testbed with elections records its own events
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
				s.letGo() // do not hold the client for an election that may be late
				hits, err := unite(ctx)
				i.Writes = hits
				return result{hits, i}, err
			}
			hits, err := unite(ctx)
			i.Writes = hits
			// This event comes after unite, since the old primary serves until its last client has left it.
			perr := s.event(history.Op{Client: history.NoClient, F: history.FPromote, Node: heir})
			return result{hits, i}, errors.Join(err, perr)
		}, nil
	},
}

// leased returns the time after which the new primary can grant a lock again if it received the
// last grant by replication.
func (w World) leased() time.Duration { return w.TTL + w.TTL/5 }

func drawnSplits(w World, r *rand.Rand) []Plan {
	d, l := w.draw(), w.crowd()
	splits := func(spots []spot, idea string, moved []int, atLeast time.Duration, until *Trigger) {
		d.add(spots, idea, func(m *move) {
			m.Nodes, m.Others = []string{heirNode}, moved
			m.For, m.Until, m.Limit = atLeast, until, atLeast+3*w.TTL/2
			if w.elects() { // there is no second primary before the election is over
				m.For = max(atLeast, electing)
				m.Limit = m.For + w.TTL
			}
		})
	}
	others, another := l.everyone(), l.others(testbed.StepTouch)
	// The holder stays at the old primary, and both primaries have its grant. Both can grant again
	// after its lease.
	splits(begins(testbed.StepHold), "the holder stays at the old primary, the others are moved", others, w.leased(), another)
	splits(begins(testbed.StepRest), "both primaries have a free lock to grant", others, w.TTL/2, l.itself(testbed.StepHold))
	splits(begins(testbed.StepHold), "the holder is moved, the others stay at the old primary", nil, w.leased(), another)
	splits(w.lastCommand(testbed.Replied, testbed.StepAcquire), "the holder stays, the new primary may not have heard of its grant", others, 0, another)
	splits(w.lastCommand(testbed.Before, testbed.StepRelease), "a release reaches the old primary only", others, w.TTL/10, another)
	splits(begins(testbed.StepRest), "one client is moved while the lock is free, until another holds it", nil, w.TTL/2, l.others(testbed.StepHold))
	return d.plans(1, r)
}

// namedSplits makes two primaries at each spot: the struck client stays at the old one, or
// moves to the new one.
func namedSplits(w World) []Schedule {
	if w.elects() {
		return nil // the nemesis cannot choose the moment of an election
	}
	e, one := w.enumerate(), w.one()
	splits := func(moved []int, atLeast time.Duration, until *Trigger, limit time.Duration) func(*Action) {
		return func(a *Action) {
			a.Nodes, a.Others = []string{heirNode}, moved
			a.For, a.Until, a.Limit = atLeast, until, limit
		}
	}
	others, touches := one.everyone(), one.others(testbed.StepTouch)
	for _, s := range slices.Concat(w.losing(), begins(testbed.StepRest)) {
		e.add(one, s, "stays", "the client stays at the old primary, the others are moved, until another is about to touch the resource", splits(others, w.leased(), touches, w.leased()+3*w.TTL/2))
		e.add(one, s, "moves", "the client is moved, the others stay at the old primary, until another is about to touch the resource", splits(nil, w.leased(), touches, w.leased()+3*w.TTL/2))
		e.add(one, s, "short", "the client stays at the old primary, the others are moved, until another has the lock", splits(others, 0, one.others(testbed.StepHold), w.leased()))
	}
	return e.all
}
