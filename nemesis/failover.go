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

// heirNode is the replica that is promoted: by testbed.Replicated the first.
const heirNode = "n1"

// clusterHeirNode is the replica of the master that has the first lock's slot.
const clusterHeirNode = "n3"

// failover holds replication back, lets a client get to a telling place, kills
// the primary there, and promotes a replica that has not heard of what happened
// since. The proof is what differs between the old primary and the new one.
var failover = Fault{
	Name:       "failover",
	Doc:        "replication lags, the primary is lost, a replica is promoted, clients are moved",
	Color:      "#c2185b",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: withReplicas,
	Impossible: func(w World) Unsupported {
		if w.Topology == testbed.Cluster {
			return Unsupported{}
		}
		return unreplicated(w)
	},
	Plans:  failoverPlans,
	named:  namedFailovers,
	effect: history.Promoted,
	aim:    aimAtNodes,
	inject: func(ctx context.Context, s *strike) (heal, error) {
		if s.action.Loss == Outvoted {
			return s.outvote(ctx)
		}
		resume, err := s.env.(testbed.Nodes).StopReplication(ctx)
		if err != nil {
			return nil, fmt.Errorf("stop replication: %w", err)
		}
		return func(ctx context.Context) (result, error) {
			r := result{impact: s.lasted()} // replication lagged, the primary lives on
			var err error
			switch _, elects := s.env.(testbed.Elections); {
			case s.ended == nil:
			case elects:
				r, err = s.provoke(ctx)
			default:
				r, err = s.failOver(ctx)
			}
			_, uerr := resume(ctx)
			return r, errors.Join(err, uerr)
		}, nil
	},
}

// failOver kills the primary and promotes the action's node.
func (s *strike) failOver(ctx context.Context) (result, error) {
	nodes, heir := s.env.(testbed.Nodes), s.action.Nodes[0]
	primary, err := s.primary()
	if err != nil {
		return result{}, err
	}
	before, err := s.look(ctx, primary)
	if err != nil {
		return result{}, err
	}
	dead, err := s.fell(ctx, primary)
	if err != nil {
		return result{}, err
	}
	// Nothing is served between the two, so that an entry before the deed is true.
	err = s.event(history.Op{Client: history.NoClient, F: history.FPromote, Node: heir})
	if err == nil {
		if err = nodes.Promote(ctx, heir); err != nil {
			err = fmt.Errorf("promote %s: %w", heir, err)
		}
	}
	promoted := s.env.Now()
	var after look
	if err == nil {
		after, err = s.look(ctx, heir)
	}
	if err := errors.Join(err, s.outlast(ctx, dead)); err != nil {
		return result{}, err
	}
	i := s.lasted()
	i.Handover = &history.Handover{From: primary, To: heir, How: history.PrimaryKilled, At: promoted}
	n := 0
	n, i.Keys = s.differences(before, after, promoted)
	return result{n, i}, nil
}

// primary is the node that the action's heir is to replace.
func (s *strike) primary() (string, error) {
	list, heir := s.env.(testbed.Nodes).List(), s.action.Nodes[0]
	if len(list) == testbed.Masters && heir == clusterHeirNode {
		list = list[:1] // the first master's
	}
	if len(list) != 1 || list[0] == heir {
		return "", fmt.Errorf("promote %s: clients use %v, expected one other node", heir, list)
	}
	return list[0], nil
}

// differences are what a new primary, promoted at some time, has otherwise than the
// old one had it, and how many of them are not due to the keys' own ends.
func (s *strike) differences(before, after look, promoted time.Duration) (n int, fates []history.KeyFate) {
	var expired []history.KeyFate
	old, heir := before.all(), after.all()
	fate := func(k history.KeyState, f history.Fate) history.KeyFate {
		return history.KeyFate{Node: s.action.Nodes[0], Key: history.Bytes(k.Key), Fate: f}
	}
	for _, k := range old {
		switch {
		case holds(heir, k):
		case before.expired(k, after):
			expired = append(expired, fate(k, history.FateExpired))
		default:
			fates = append(fates, fate(k, history.FateLost))
		}
	}
	cameBack := s.cameBack(before, promoted, after)
	for _, k := range heir {
		known := slices.ContainsFunc(old, func(o history.KeyState) bool { return o.Key == k.Key })
		if !known && cameBack(k) {
			fates = append(fates, fate(k, history.FateRevived))
		}
	}
	return len(fates), append(fates, expired...)
}

func failoverPlans(w World, r *rand.Rand) []Plan {
	if w.elects() {
		return w.pack(w.elections(), 1, r)
	}
	heir, loss := heirNode, Killed
	var moves []move
	if w.Topology == testbed.Cluster {
		heir, loss = clusterHeirNode, Forced
	}
	add := func(idea string, stop *Trigger, lag time.Duration, strike *Trigger) {
		moves = append(moves, move{Action: Action{
			Fault: "failover", Idea: idea, Client: history.NoClient, Point: stop,
			Nodes: []string{heir}, Loss: loss,
			For: lag, Until: strike, Limit: lag + 3*w.TTL/2,
		}})
	}
	// What the replica heard of before would keep others out after the failover
	// too. Either it expires, or replication stops when the lock is free.
	stop, lag := w.step(testbed.StepRest), time.Duration(0)
	if k := w.KeyLife; k > 0 && k <= 2*w.TTL {
		stop, lag = nil, k+w.TTL/10
	}
	add("the primary is lost while the lock is held, the replica knows of no grant", stop, lag, w.step(testbed.StepHold))
	if stop == nil {
		add("the primary is lost just when the lock was granted again", w.step(testbed.StepRest), 0, w.step(testbed.StepHold))
	}
	for _, p := range w.last(testbed.StepRelease) {
		// Stopped after the grant was replicated, so that only the release is lost.
		after := w.at(p, testbed.Replied)
		after.Who = Same
		add("the primary is lost after a release, of which the replica knows nothing", w.step(testbed.StepTouch), 0, after)
	}
	add("the primary is lost between look and touch", stop, lag, w.step(testbed.StepTouch))
	if w.Topology == testbed.Cluster {
		moves = append(moves, w.lostMasters()...)
	}
	return w.pack(moves, 1, r)
}
