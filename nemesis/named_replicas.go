package nemesis

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// namedFailovers lose the primary at each place: replication stops when the lock
// is free, or as long before that what the replica knows has expired, and the
// replica that takes over has not heard of what came since.
func namedFailovers(w World) []Schedule {
	if w.elects() || w.Topology == testbed.Cluster {
		return nil // the moment of an election is not ours to choose
	}
	e := w.enumerate("failover")
	add := func(l lineup, s spot, variant, idea string, stop *Trigger, lag time.Duration) {
		strike := e.at(s, "", clientsTo(l.clients), l).Point
		e.plan(l, named(s, variant), Action{
			Fault: e.fault, Idea: idea, Client: history.NoClient, At: e.settled(), By: e.patience(),
			Point: stop, Nodes: []string{heirNode},
			For: lag, Until: strike, Limit: lag + 3*w.TTL/2,
		})
	}
	one := w.one()
	free := &Trigger{Clients: clientsTo(one.clients), Step: testbed.StepRest}
	for _, s := range w.losing() {
		add(one, s, "", "the primary is lost, the replica knows of nothing since the lock was free", free, 0)
		if k := w.KeyLife; k > 0 && k <= 2*w.TTL {
			add(one, s, "stale", "the primary is lost, what the replica knows has expired", nil, k+w.TTL/10)
		}
	}
	for _, s := range slices.Concat(w.later(testbed.Before), w.granted(), begins(testbed.StepHold), w.boundaries(testbed.Before, testbed.StepRelease)) {
		slow := e.stall(s, clientsTo(one.clients), one)
		slow.For = w.TTL / 10 // the failover first
		lost := Action{
			Fault: e.fault, Idea: "the primary is lost beneath a slow client", Client: history.NoClient, At: e.settled(), By: e.patience(),
			Point: free, Nodes: []string{heirNode}, Until: slow.Point, Limit: 3 * w.TTL / 2,
		}
		slow.Arm = free
		e.plan(one, named(s, "slow"), lost, slow)
	}
	e.behind(free)
	e.lateRelease()
	e.former()
	// Stopped after the grant was replicated, so that only the release is lost.
	for _, s := range w.boundaries(testbed.Replied, testbed.StepRelease) {
		for _, l := range []lineup{one, alone} {
			add(l, s, "undone", "the primary is lost after a release, of which the replica knows nothing",
				&Trigger{Clients: clientsTo(l.clients), Step: testbed.StepTouch}, 0)
			if l.clients > 1 {
				e.awayAfterwards(l)
			}
		}
	}
	return e.all
}

// awayAfterwards lets the client that gave the lock back in the last schedule stay
// away until another has it: it may not take over what it has left.
func (e *enumeration) awayAfterwards(l lineup) {
	last := &e.all[len(e.all)-1]
	away := e.at(begins(testbed.StepRest)[0], "is slow to come back, until another has the lock", clientsTo(l.clients), l)
	away.ID, away.Fault, away.Nodes = len(last.Plan)+1, clientPauseName, nil
	away.Arm = last.Plan[0].Point
	away.Until, away.Limit = l.others(testbed.StepHold), e.outlast()
	last.Plan = append(last.Plan, away)
}

// lateRelease loses the primary beneath a client that is about to release, and
// freezes whoever has the lock when it does. What the replica knows has expired,
// if it ever does.
func (e *enumeration) lateRelease() {
	stop, lag := &Trigger{Clients: clientsTo(trio.clients), Step: testbed.StepRest}, time.Duration(0)
	if k := e.KeyLife; k > 0 && k <= 2*e.TTL {
		stop, lag = nil, k+e.TTL/10
	}
	for _, s := range begins(testbed.StepTouch) {
		slow := e.stall(s, clientsTo(trio.clients), trio)
		slow.At += lag
		slow.For, slow.Arm = e.TTL/10, stop // the failover first
		lost := Action{
			Fault: e.fault, Idea: "the primary is lost beneath a client that releases late", Client: history.NoClient, At: e.settled(), By: e.patience(),
			Point: stop, Nodes: []string{heirNode}, For: lag, Until: slow.Point, Limit: lag + 3*e.TTL/2,
		}
		e.plan(trio, named(s, "robbed"), lost, slow, e.robbed(2))
	}
}

// former loses the primary once another client has the lock, beneath it or after a
// renewal of its own: the replica has the former holder's grant and knows nothing of
// its release.
func (e *enumeration) former() {
	l := e.one()
	held := &Trigger{Clients: clientsTo(l.clients), Step: testbed.StepTouch}
	for _, s := range slices.Concat(begins(testbed.StepHold), first(e.boundaries(testbed.Replied, testbed.StepHold, testbed.StepRead, testbed.StepTouch))) {
		next := *e.at(s, "", clientsTo(l.clients), l).Point
		next.Who = Other
		e.plan(l, named(s, "former"), Action{
			Fault: e.fault, Idea: "the primary is lost once another has the lock, the replica has the former holder's", Client: history.NoClient,
			At: e.settled(), By: e.patience(), Point: held, Nodes: []string{heirNode}, Until: &next, Limit: 3 * e.TTL / 2,
		})
	}
}

// behind loses the primary when the replica that takes over, and no other, has not
// heard of the grant: who waits for a replica may have waited for another one.
func (e *enumeration) behind(free *Trigger) {
	l := e.one()
	cut := Action{
		Fault: partitionName, Idea: "the replica that will take over hears nothing since the lock was free", Client: history.NoClient,
		At: e.settled(), By: e.patience(), Point: free, Direction: testbed.Both, For: e.TTL,
		Links: []testbed.Link{{From: heirNode, To: e.Nodes[0]}},
	}
	for _, s := range begins(testbed.StepHold, testbed.StepRead) {
		lost := Action{
			Fault: e.fault, Idea: "the primary is lost, another replica than its heir has the lock", Client: history.NoClient,
			At: e.settled(), By: e.patience(), Arm: free, Point: e.at(s, "", clientsTo(l.clients), l).Point,
			Nodes: []string{heirNode}, Until: l.itself(testbed.StepTouch), Limit: e.TTL,
		}
		if s.step == testbed.StepHold {
			lost.Until = &Trigger{Clients: clientsTo(l.clients), Step: testbed.StepRead}
		}
		e.plan(l, named(s, "behind"), cut, lost)
	}
}

// namedSplits leave two primaries at each place: the struck client stays at the
// old one, or is moved to the new one.
func namedSplits(w World) []Schedule {
	if w.elects() {
		return nil // the moment of an election is not ours to choose
	}
	e := w.enumerate("split-brain")
	one := w.one()
	// What the new primary heard of keeps out those that it serves for a lease.
	leased := w.TTL + w.TTL/5
	for _, s := range slices.Concat(w.losing(), begins(testbed.StepRest)) {
		for variant, moved := range [][]int{clientsTo(one.clients), nil} {
			name := []string{"stays", "moves"}[variant]
			e.add(one, s, name, "the client "+name+", the new primary serves the others or it", func(a *Action) {
				a.Nodes, a.Others = []string{heirNode}, moved
				a.For, a.Until = leased, one.others(testbed.StepTouch)
				a.Limit = leased + 3*w.TTL/2
			})
		}
		e.add(one, s, "short", "the client stays, the others are moved, until another holds", func(a *Action) {
			a.Nodes, a.Others = []string{heirNode}, clientsTo(one.clients)
			a.Until, a.Limit = one.others(testbed.StepHold), leased
		})
	}
	return e.all
}
