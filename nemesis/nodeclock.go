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

// nodeClock makes nodes' wall clocks jump, and sets them right later, which is
// a jump too: forward, keys expire early; back, they live longer. The keys whose
// lives the two moved are the proof; where clients were seen to ask their nodes for the
// time, so are keys without a life. Each jump is recorded when it happens.
//
// On a recipe whose keys have no end, and which asks no node for the time, it is not
// supported, rather than not exercised, as no trial could ever exercise it.
var nodeClock = Fault{
	Name:       "node-clock",
	Doc:        "a node's wall clock jumps forward or back by a little, by more than a lease, by minutes, and is set right later",
	Color:      "#827717",
	Needs:      []testbed.Capability{testbed.CanNodeClocks},
	Topologies: sameTopology,
	Impossible: func(w World) Unsupported {
		if w.KeyLife == 0 && !w.Times {
			return Unsupported{Why: NoLives}
		}
		return Unsupported{}
	},
	Plans:  nodeClockPlans,
	named:  namedNodeClocks,
	effect: history.ClockSet,
	aim:    aimAtNodes,
	inject: func(ctx context.Context, s *strike) (heal, error) {
		stood, err := s.readByClock(ctx)
		if err != nil {
			return nil, err
		}
		there, err := s.setClocks(ctx, s.action.Offset)
		if err != nil {
			healing, cancel := context.WithTimeout(context.WithoutCancel(ctx), healing)
			defer cancel()
			_, uerr := s.setClocks(healing, 0)
			return nil, errors.Join(err, uerr)
		}
		return func(ctx context.Context) (result, error) {
			i := s.lasted()
			back, err := s.setClocks(ctx, 0)
			i.Offset, i.Shifted, i.ShiftedBack, i.Read = s.action.Offset, there, back, stood
			return result{there + back + stood, i}, err
		}, nil
	},
}

// readByClock counts the keys without a life on the action's nodes, if clients read those
// nodes' clocks.
func (s *strike) readByClock(ctx context.Context) (keys int, err error) {
	if !s.action.Values {
		return 0, nil
	}
	l, err := s.look(ctx, s.action.Nodes...)
	for _, k := range l.all() {
		if k.TTL < 0 {
			keys++
		}
	}
	return keys, err
}

// setClocks sets the clocks of the action's nodes, one after the other, whatever
// fails, and counts the keys whose lives that moved.
func (s *strike) setClocks(ctx context.Context, offset time.Duration) (keys int, err error) {
	for _, node := range s.action.Nodes {
		n, serr := s.env.(testbed.NodeClocks).SkewNode(ctx, node, offset, func() error {
			return s.event(history.Op{Client: history.NoClient, F: history.FNodeClock, Node: node, Offset: offset})
		})
		if serr != nil {
			err = errors.Join(err, fmt.Errorf("set the clock of %s: %w", node, serr))
		}
		keys += n
	}
	return keys, err
}

func nodeClockPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action, nodes []string, offset time.Duration) {
		// Set right while somebody holds the lock, so that this jump bites too.
		a.Nodes, a.Offset, a.Values = nodes, offset, w.Times
		a.For, a.Until = w.TTL/5, w.step(testbed.StepHold)
		a.Limit = a.For + w.TTL
		moves = append(moves, move{Action: a, cost: a.For + w.wait(), gap: w.TTL / 5})
	}
	held := func(set nodeSet, offset time.Duration) {
		way := "forward"
		if offset < 0 {
			way = "back"
		}
		idea := fmt.Sprintf("the clock of %s jumps %s while the lock is held", set.name, way)
		add(w.during("node-clock", idea, testbed.StepHold), set.nodes, offset)
	}
	sets := w.nodeSets()
	if len(sets) > 1 {
		sets = sets[:len(sets)-1] // a majority is enough
	}
	for _, set := range sets {
		held(set, w.far())
		held(set, -w.far())
	}
	most := sets[0]
	for _, p := range w.last(testbed.StepAcquire) {
		add(w.action("node-clock", "the clock of "+most.name+" jumps forward when the lock is granted, before its client knows", p, testbed.Replied), most.nodes, w.far())
	}
	held(most, 5*time.Minute)
	held(most, -5*time.Minute)
	for _, p := range w.first(testbed.StepRelease) {
		add(w.action("node-clock", "the clock of "+most.name+" jumps forward as the holder releases", p, testbed.Before), most.nodes, w.far())
	}
	held(most, w.TTL/10)
	held(most, -w.TTL/10)
	return w.pack(moves, 2, r)
}
