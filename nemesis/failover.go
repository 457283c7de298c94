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

// failover stops replication, waits until a client is at a chosen point, kills the primary, and
// promotes a replica that lacks the latest writes. Where nodes elect a primary, Action.Loss says how
// the old primary is lost. The proof is the difference between the keys of the old primary and those
// of the new one.
var failover = Fault{
	Name:       "failover",
	Doc:        "replication lags, the primary is lost, a replica is promoted, clients are moved to it",
	Color:      "#c2185b",
	Needs:      []testbed.Capability{testbed.CanNodes},
	Topologies: withReplicas,
	Impossible: func(w World) *Unsupported {
		if w.Topology == testbed.Cluster {
			return nil
		}
		return unreplicated(w)
	},
	Plans:     drawnFailovers,
	schedules: namedFailovers,
	effect:    history.Promoted,
	aim:       aimAtNodes,
	inject: func(ctx context.Context, s *injection) (heal, error) {
		if s.action.Loss == Outvoted {
			return s.outvote(ctx)
		}
		resume, err := s.env.(testbed.Nodes).StopReplication(ctx)
		if err != nil {
			return nil, fmt.Errorf("stop replication: %w", err)
		}
		return func(ctx context.Context) (result, error) {
			r := result{impact: s.lasted()} // the result if Until was not reached: replication only lagged
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
func (s *injection) failOver(ctx context.Context) (result, error) {
	heir := s.action.Nodes[0]
	primary, err := s.primary()
	if err != nil {
		return result{}, err
	}
	var dead *death
	var promoted time.Duration
	n, keys, err := s.replaced(ctx, primary, func() (_ time.Duration, err error) {
		if dead, err = s.killAsync(ctx, primary); err != nil {
			return 0, err
		}
		// No command runs between the kill and the promotion, so the history entry may precede the
		// promotion.
		if err = s.event(history.Op{Client: history.NoClient, F: history.FPromote, Node: heir}); err == nil {
			if err = s.env.(testbed.Nodes).Promote(ctx, heir); err != nil {
				err = fmt.Errorf("promote %s: %w", heir, err)
			}
		}
		promoted = s.env.Now()
		return promoted, err
	})
	if dead != nil {
		err = errors.Join(err, s.awaitDeath(ctx, dead))
	}
	if err != nil {
		return result{}, err
	}
	i := s.lasted()
	i.Handover, i.Keys = &history.Handover{From: primary, To: heir, How: history.PrimaryKilled, At: promoted}, keys
	return result{n, i}, nil
}

// lostPrimary returns an action that causes the loss of the primary when a client reaches the second
// trigger (until). Replication stops at least lag earlier: when a client reaches the first trigger
// (stop), or at any time if stop is nil.
func (w World) lostPrimary(idea string, stop *Trigger, lag time.Duration, until *Trigger) Action {
	a := Action{
		Idea: idea, Client: history.NoClient, Point: stop, Nodes: []string{heirNode},
		For: lag, Until: until, Limit: lag + 3*w.TTL/2,
	}
	if w.Topology == testbed.Cluster {
		a.Nodes, a.Loss = []string{clusterHeirNode}, Forced
	}
	return a
}

// forgets returns how long replication must be stopped until all keys on the replica have expired.
// ok is false if the keys live too long for that, or for ever.
func (w World) forgets() (lag time.Duration, ok bool) {
	k := w.KeyLife
	return k + w.TTL/10, k > 0 && k <= 2*w.TTL
}

func drawnFailovers(w World, r *rand.Rand) []Plan {
	if w.elects() {
		return w.pack(w.elections(), 1, r)
	}
	var moves []move
	l := w.crowd()
	add := func(idea string, stop *Trigger, lag time.Duration, until *Trigger) {
		moves = append(moves, move{Action: w.lostPrimary(idea, stop, lag, until)})
	}
	// If the replica knew of the grant, it would keep other clients out after the failover too. So
	// either the replica's keys expire before the failover, or replication stops when the lock is
	// free.
	lag, expires := w.forgets()
	stop := l.anyone(testbed.StepRest)
	if expires {
		stop = nil
	} else {
		lag = 0
	}
	add("the primary is lost while the lock is held, the replica knows of no grant", stop, lag, l.anyone(testbed.StepHold))
	if expires {
		add("the primary is lost just when the lock was granted again", l.anyone(testbed.StepRest), 0, l.anyone(testbed.StepHold))
	}
	for _, s := range w.lastCommand(testbed.Replied, testbed.StepRelease) {
		// Replication stops after the grant, so that only the release is lost.
		after := s.trigger(l.everyone())
		after.Who = Same
		add("the primary is lost after a release that the replica did not receive", l.anyone(testbed.StepTouch), 0, after)
	}
	add("the primary is lost when the holder has checked its lease, before it touches the resource", stop, lag, l.anyone(testbed.StepTouch))
	if w.Topology == testbed.Cluster {
		// These moves come last: the election takes longer than a lease of a second, so lost keys
		// seldom have an effect.
		moves = append(moves,
			w.lostWhileHeld(clusterHeirNode, Killed, "the master dies while the lock is held, the replica knows of no grant"),
			w.lostWhileHeld(clusterHeirNode, Frozen, "the master freezes while the lock is held, and steps down when it goes on"))
	}
	return w.pack(moves, 1, r)
}

// elections returns the drawn failovers where nodes elect the primary. The client that holds the
// lock at the loss has often released it before the election is over. An outvoted primary shows more:
// it serves clients during the election, and all writes to it after the vote are lost.
func (w World) elections() []move {
	var moves []move
	add := func(m move) {
		m.Others = w.crowd().everyone()
		moves = append(moves, m)
	}
	outvoted := func(idea, step string) move {
		return move{Action: Action{
			Idea: idea, Client: history.NoClient, Nodes: []string{heirNode}, Loss: Outvoted,
			For: electing, Until: w.crowd().anyone(step), Limit: electing + w.TTL,
		}}
	}
	add(outvoted("another primary was elected, clients hear of it while the lock is held", testbed.StepHold))
	add(w.lostWhileHeld(heirNode, Killed, "the primary dies while the lock is held, the replica knows of no grant"))
	add(outvoted("another primary was elected, clients hear of it when the holder has checked its lease", testbed.StepRead))
	add(w.lostWhileHeld(heirNode, Frozen, "the primary freezes while the lock is held, and comes back as a replica"))
	add(w.lostWhileHeld(heirNode, CutOff, "the primary is cut off while the lock is held, and comes back as a replica"))
	return moves
}

// lostWhileHeld returns a move that causes the loss of the primary while the lock is held.
// The replica has received no write since the lock was free.
func (w World) lostWhileHeld(heir string, loss Loss, idea string) move {
	l := w.crowd()
	return move{Action: Action{
		Idea: idea, Client: history.NoClient, Nodes: []string{heir}, Loss: loss,
		Point: l.anyone(testbed.StepRest), Until: l.anyone(testbed.StepHold), Limit: w.TTL,
	}}
}

// namedFailovers causes the loss of the primary at each spot. Replication stops when the
// lock is free, or so early that the replica's keys have expired; the promoted replica
// lacks all later writes.
func namedFailovers(w World) []Schedule {
	if w.elects() || w.Topology == testbed.Cluster {
		return nil // the nemesis cannot choose the moment of an election
	}
	e, one := w.enumerate(), w.one()
	free := one.anyone(testbed.StepRest)
	for _, s := range w.losing() {
		e.loses(one, s, "", "the primary is lost, the replica knows of nothing since the lock was free", free, 0)
		if lag, ok := w.forgets(); ok {
			e.loses(one, s, "stale", "the primary is lost, and the replica's keys have expired", nil, lag)
		}
	}
	for _, s := range w.slowing() {
		lost, slow := e.beneath(s, one, "the primary is lost beneath a slow client", free, 0)
		e.plan(one, scheduleName(s, "slow"), lost, slow)
	}
	e.behind()
	e.lateRelease()
	e.former()
	// Replication stops after the grant, so that only the release is lost.
	for _, s := range w.boundaries(testbed.Replied, testbed.StepRelease) {
		for _, l := range []lineup{one, alone} {
			e.loses(l, s, "undone", "the primary is lost after a release that the replica did not receive", l.anyone(testbed.StepTouch), 0)
			if l.clients > 1 {
				e.awayAfterwards(l)
			}
		}
	}
	return e.all
}

// loses adds a schedule in which the primary is lost when some client gets to a spot.
func (e *enumeration) loses(l lineup, s spot, variant, idea string, stop *Trigger, lag time.Duration) {
	until := e.at(s, "", l.everyone(), l).Point
	e.plan(l, scheduleName(s, variant), e.timed(e.lostPrimary(idea, stop, lag, until)))
}

// beneath returns two actions at a spot: the loss of the primary, and a pause of the client there.
func (e *enumeration) beneath(s spot, l lineup, idea string, stop *Trigger, lag time.Duration) (lost, slow Action) {
	slow = e.slow(s, l.everyone(), l)
	slow.At += lag
	slow.For, slow.Arm = e.TTL/10, stop // the pause must not end before the failover
	return e.timed(e.lostPrimary(idea, stop, lag, slow.Point)), slow
}

// awayAfterwards extends the last schedule: the client that released the lock pauses until another
// client has the lock. Otherwise the client could take over its own stale key.
func (e *enumeration) awayAfterwards(l lineup) {
	last := &e.all[len(e.all)-1]
	away := e.pause(beginning(testbed.StepRest), "is slow to come back, until another has the lock", l.everyone(), l)
	away.ID, away.Arm = len(last.Plan)+1, last.Plan[0].Point
	away.Until, away.Limit = l.others(testbed.StepHold), e.outlast()
	last.Plan = append(last.Plan, away)
}

// lateRelease adds a schedule in which the primary is lost when a client is about to touch the
// resource. That client freezes until the next client has the lock, and then releases late. After
// that the next holder freezes: see robbed. If keys expire soon enough, the replica's keys have
// expired before the loss.
func (e *enumeration) lateRelease() {
	stop, lag := trio.anyone(testbed.StepRest), time.Duration(0)
	if l, ok := e.forgets(); ok {
		stop, lag = nil, l
	}
	s := beginning(testbed.StepTouch)
	lost, slow := e.beneath(s, trio, "the primary is lost beneath a client that releases late", stop, lag)
	e.plan(trio, scheduleName(s, "robbed"), lost, slow, e.robbed(2))
}

// former adds schedules in which one client releases the lock, and the primary is lost when another
// client has acquired or renewed it. The replica has the former holder's grant, but not the former
// holder's release.
func (e *enumeration) former() {
	l := e.one()
	renewed := first(e.boundaries(testbed.Replied, protocol[1:4]...))
	for _, s := range slices.Concat(begins(testbed.StepHold), renewed) {
		next := s.trigger(l.everyone())
		next.Who = Other
		e.plan(l, scheduleName(s, "former"), e.timed(e.lostPrimary(
			"the primary is lost once another has the lock, the replica has the former holder's grant", l.anyone(testbed.StepTouch), 0, next)))
	}
}

// behind adds schedules in which only the promoted replica lacks the grant. A client that waits for
// one replica to acknowledge its grant (WAIT) may get the acknowledgement from the other replica.
func (e *enumeration) behind() {
	l := e.one()
	free := l.anyone(testbed.StepRest)
	cut := e.timed(Action{
		Fault: partitionName, Idea: "the replica that will take over hears nothing since the lock was free",
		Point: free, Direction: testbed.Both, For: e.TTL,
		Links: []testbed.Link{{From: heirNode, To: e.Nodes[0]}},
	})
	for _, when := range []struct{ held, lost string }{
		{testbed.StepHold, testbed.StepRead}, {testbed.StepRead, testbed.StepTouch},
	} {
		s := beginning(when.held)
		until := l.anyone(when.lost)
		if when.lost == testbed.StepTouch {
			until = l.itself(when.lost)
		}
		lost := e.timed(e.lostPrimary("the primary is lost, another replica than its heir has the lock", s.trigger(l.everyone()), 0, until))
		lost.Arm, lost.Limit = free, e.TTL
		e.plan(l, scheduleName(s, "behind"), cut, lost)
	}
}
