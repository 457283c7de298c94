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

// nodeClock makes nodes' wall clocks jump, and later sets the clocks right with a second jump.
// After a jump forward keys expire early; after a jump back they live longer. The proof is the keys
// whose lives the jumps changed. Where clients ask nodes for the time, keys without an expiry count
// too, since their values may contain a time. Each jump is recorded when it happens.
//
// A recipe whose keys never expire and whose clients ask no node for the time counts as not
// supported, rather than as not exercised: no trial could ever exercise it.
var nodeClock = Fault{
	Name:       "node-clock",
	Doc:        "a node's wall clock jumps forward or back by a little, by more than a lease, by minutes, and is set right later",
	Color:      "#827717",
	Needs:      []testbed.Capability{testbed.CanNodeClocks},
	Topologies: sameTopology,
	Impossible: func(w World) *Unsupported {
		if w.KeyLife == 0 && !w.Times {
			return &Unsupported{Why: NoLives}
		}
		return nil
	},
	Plans:     drawnNodeClocks,
	schedules: namedNodeClocks,
	sweep:     jumped,
	effect:    history.ClockSet,
	aim:       aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
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

// readByClock counts the keys without an expiry on the action's nodes, if clients read
// those nodes' clocks; else it returns 0.
func (s *injection) readByClock(ctx context.Context) (keys int, err error) {
	if !s.action.Values {
		return 0, nil
	}
	l, err := s.snapshot(ctx, s.action.Nodes...)
	for _, k := range l.all() {
		if k.TTL < 0 {
			keys++
		}
	}
	return keys, err
}

// setClocks sets the clocks of all the action's nodes, even if one fails, and counts the
// keys whose lives changed.
func (s *injection) setClocks(ctx context.Context, offset time.Duration) (keys int, err error) {
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

// jump makes an action set these nodes' clocks wrong, and set them right again while some client
// holds the lock, so that the second jump has an effect too.
func (w World) jump(nodes []string, offset time.Duration, l lineup) func(*Action) {
	return func(a *Action) {
		a.Nodes, a.Offset, a.Values = nodes, offset, w.Times
		a.For, a.Until = w.TTL/5, l.anyone(testbed.StepHold)
		a.Limit = a.For + w.TTL
	}
}

func drawnNodeClocks(w World, r *rand.Rand) []Plan {
	d := w.draw()
	jumps := func(spots []spot, set part, offset time.Duration, idea string) {
		way := "forward"
		if offset < 0 {
			way = "back"
		}
		d.add(spots, fmt.Sprintf("the clock of %s jumps %s %s", set.words, way, idea), func(m *move) {
			w.jump(set.nodes, offset, w.crowd())(&m.Action)
			m.cost, m.gap = m.For+w.wait(), w.TTL/5
		})
	}
	held := func(set part, offset time.Duration) {
		jumps(begins(testbed.StepHold), set, offset, "while the lock is held")
	}
	sets := w.parts()
	if len(sets) > 1 {
		sets = sets[:len(sets)-1] // without the set of all nodes, since a majority is enough
	}
	for _, set := range sets {
		held(set, w.far())
		held(set, -w.far())
	}
	most := sets[0]
	jumps(w.lastCommand(testbed.Replied, testbed.StepAcquire), most, w.far(), "when the lock is granted, before its client knows")
	held(most, 5*time.Minute)
	held(most, -5*time.Minute)
	jumps(w.firstCommand(testbed.Before, testbed.StepRelease), most, w.far(), "as the holder releases")
	held(most, w.TTL/10)
	held(most, -w.TTL/10)
	return d.plans(2, r)
}

// namedNodeClocks makes nodes' clocks jump at each spot: forward, so that keys expire
// early, and also back at spots where a key exists.
func namedNodeClocks(w World) []Schedule {
	e, one := w.enumerate(), w.one()
	jumps := func(spots []spot, way string, offset time.Duration) {
		for _, s := range spots {
			for _, part := range w.clocks(s) {
				e.add(one, s, join(part.label, way), "the clock of "+part.words+" jumps "+way, w.jump(part.nodes, offset, one))
			}
		}
	}
	jumps(w.losing(), "forward", w.far())
	jumps(w.kept(), "back", -w.far())
	for _, s := range slices.Concat(w.granted(), believing) {
		e.exactQuorum(s, "forward", "the clock of one node jumps forward", func(a *Action) { w.jump(a.Nodes, w.far(), one)(a) })
	}
	e.drifts()
	return e.all
}

// clocks returns the sets of nodes whose clocks are set at a spot: a quorum and, at the beginning
// of a step, also one node alone.
func (w World) clocks(s spot) []part {
	all := []part{w.together()}
	if s.n == 0 && len(w.Nodes) > 1 {
		all = append(all, w.oneNode())
	}
	return all
}

// drifts sets the nodes' clocks ahead while a holder works for longer than its lease. The
// offset is less than the drift that a recipe should allow for (redis.io, "Distributed
// Locks with Redis"). Several runs are needed, since another client must ask in the short
// time between the keys' end and the deadline. drifts adds no schedule if leases have no
// deadline.
func (e *enumeration) drifts() {
	if !e.Deadlines {
		return
	}
	all := e.together()
	for _, s := range e.granted() {
		for run := range 6 {
			ahead := e.at(s, "the clocks of "+all.words+" run a little ahead of its lease", trio.struck[0], trio)
			ahead.Nodes, ahead.Offset, ahead.For = all.nodes, e.TTL/100, 2*e.outlast()
			e.plan(trio, scheduleName(s, fmt.Sprintf("drift.%d", run+1)), ahead, e.overrunLease(trio))
		}
	}
}
