package nemesis

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// namedNodePauses freeze nodes at each command and in each state of mind: for
// longer than the lease, and for longer than their clients wait only.
func namedNodePauses(w World) []Schedule {
	e := w.enumerate("node-pause")
	lengths := []struct {
		name, words string
		length      time.Duration
	}{
		{"", " freezes for longer than the lease", w.outlast()},
		{"short", " freezes for longer than its clients wait", w.timeout() + w.TTL/5},
	}
	for _, s := range slices.Concat(w.boundaries(testbed.Before), believing, w.reentry(testbed.Before)) {
		for _, part := range w.parts(s) {
			for _, l := range lengths {
				e.add(w.one(), s, join(part.label, l.name), part.words+l.words, func(a *Action) {
					a.Nodes, a.For = part.nodes, l.length
				})
			}
			e.add(trio, s, part.label, part.words+lengths[0].words+", with more clients than one waiting", func(a *Action) {
				a.Nodes, a.For = part.nodes, w.outlast()
			})
		}
	}
	// A client that is late, but within its lease, when its node freezes for what is
	// left of it: others ask before it gives the lock back.
	l := w.one()
	for _, s := range believing {
		slow := e.at(s, "is late, but within its lease", []int{0}, l)
		slow.Fault, slow.Nodes, slow.For = clientPauseName, nil, 7*w.TTL/10
		freeze := Action{
			Fault: e.fault, Idea: w.together().words + " freezes for what is left of the lease", Client: history.NoClient,
			After: 1, By: 2 * e.patience(), Nodes: w.together().nodes, For: 2 * w.TTL / 5,
		}
		e.plan(l, named(s, "late"), slow, freeze)
	}
	return unique(e.all)
}

// unique keeps the first of schedules of one name: where one client in three is
// the fewest that show anything, two line-ups are the same.
func unique(all []Schedule) []Schedule {
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(s Schedule) bool {
		again := seen[s.Name]
		seen[s.Name] = true
		return again
	})
}

// losing are the places at which nodes have something to lose: not when the lock
// is free.
func (w World) losing() []spot {
	asks := w.boundaries(testbed.Before)
	return slices.Concat(asks[min(1, len(asks)):], w.boundaries(testbed.Replied, protocol[:len(protocol)-1]...), believing)
}

// kept are the places at which what was acknowledged just before can be lost or
// come back: after the grant.
func (w World) kept() []spot {
	return slices.Concat(w.granted(), believing, w.boundaries(testbed.Before, testbed.StepRelease),
		w.boundaries(testbed.Replied, testbed.StepRead, testbed.StepRelease))
}

// together are the nodes that must be struck together to be missed by anybody.
func (w World) together() part {
	if len(w.Nodes) == 1 {
		return part{"", "its node", w.Nodes}
	}
	return part{"", "a majority of nodes", w.Nodes[:w.quorum()]}
}

// namedRestarts kill and restart nodes at each place: without anything, and,
// where it can make a difference, with what they had a second ago.
func namedRestarts(w World) []Schedule {
	e := w.enumerate("node-restart")
	idea, restarts := w.together().words+" restarts", func(d testbed.Durability) func(*Action) {
		return func(a *Action) { a.Nodes, a.Durability, a.Quorum = w.together().nodes, d, w.Claims.Quorum }
	}
	add := func(l lineup, s spot, d testbed.Durability) { e.add(l, s, string(d), idea, restarts(d)) }
	one := w.one()
	for _, s := range w.losing() {
		add(one, s, testbed.Volatile)
	}
	for _, s := range w.kept() {
		add(one, s, testbed.EverySec)
	}
	for _, s := range first(w.boundaries(testbed.Before, testbed.StepRelease)) {
		add(one, s, testbed.Always) // which keeps the lock, while its release goes to a dead node
		e.writers(s, string(testbed.Always), idea, restarts(testbed.Always))
	}
	for _, s := range ends(w.boundaries(testbed.Replied, testbed.StepRelease)) {
		for _, l := range []lineup{one, alone} {
			e.undone(l, s)
		}
	}
	for _, s := range slices.Concat(w.granted(), believing, w.boundaries(testbed.Before, testbed.StepRelease)) {
		for _, d := range []testbed.Durability{testbed.Volatile, testbed.EverySec} {
			e.exactQuorum(s, string(d), "one node restarts", func(a *Action) { a.Durability = d })
		}
	}
	e.slowly("restarts", string(testbed.Volatile), func(a *Action) { a.Durability, a.Quorum = testbed.Volatile, w.Claims.Quorum })
	return e.all
}

// undone restarts nodes just after a release of a client that held the lock for
// long enough that its grant, but not its release, has been written to disk.
func (e *enumeration) undone(l lineup, s spot) {
	slow := e.at(begins(testbed.StepRead)[0], "holds until its grant is on disk", []int{0}, l)
	slow.Fault, slow.Nodes, slow.For = clientPauseName, nil, 3*e.TTL/5
	restart := e.at(s, e.together().words+" restarts, the release was not written", []int{0}, l)
	restart.After, restart.Nodes, restart.Durability, restart.Quorum = 1, e.together().nodes, testbed.EverySec, e.Claims.Quorum
	e.plan(l, named(s, "undone"), slow, restart)
}

// slowly strikes the nodes beneath a client that is slow to go on with its
// acquire, its work or its release: another has the lock by then.
func (e *enumeration) slowly(what, variant string, shape func(*Action)) {
	l := e.one()
	for _, s := range slices.Concat(
		e.later(testbed.Before), e.granted(), begins(testbed.StepHold), e.boundaries(testbed.Before, testbed.StepRelease),
	) {
		who := l.struck[0][:1]
		a := e.at(s, e.together().words+" "+what+" beneath a slow client", who, l)
		a.Nodes = e.together().nodes
		shape(&a)
		slow := e.stall(s, who, l)
		slow.Linger = e.moment()
		e.plan(l, named(s, join(variant, "slow")), a, slow)
	}
	for _, s := range begins(testbed.StepTouch) {
		a := e.at(s, e.together().words+" "+what+" beneath a client that releases late", []int{0}, trio)
		a.Nodes = e.together().nodes
		shape(&a)
		e.plan(trio, named(s, join(variant, "robbed")), a, e.stall(s, []int{0}, trio), e.robbed(2))
	}
}

// robbed freezes, within its lease, whoever has the lock when the action of that
// number ends, with which another released it late: until somebody else, if a third
// was let in, is about to touch.
func (e *enumeration) robbed(late int) Action {
	return Action{
		Fault: clientPauseName, Idea: "is slow, when its lock was released by another", Client: history.NoClient,
		After: late, By: 2 * e.patience(), Point: &Trigger{Clients: clientsTo(trio.clients), Step: testbed.StepTouch},
		Until: &Trigger{Clients: clientsTo(trio.clients), Who: Other, Step: testbed.StepTouch}, Limit: e.TTL / 2,
	}
}

// namedNodeClocks make nodes' clocks jump at each place: forward, so that keys
// end early, and, while there is a key, back.
func namedNodeClocks(w World) []Schedule {
	e := w.enumerate("node-clock")
	jump := func(part part, offset time.Duration) func(*Action) {
		return func(a *Action) {
			// Set right while somebody holds the lock, so that this jump bites too.
			a.Nodes, a.Offset, a.Values = part.nodes, offset, w.Times
			a.For, a.Until = w.TTL/5, &Trigger{Clients: clientsTo(w.one().clients), Step: testbed.StepHold}
			a.Limit = a.For + w.TTL
		}
	}
	for _, s := range w.losing() {
		for _, part := range w.clocks(s) {
			e.add(w.one(), s, join(part.label, "forward"), "the clock of "+part.words+" jumps forward", jump(part, w.far()))
		}
	}
	for _, s := range w.kept() {
		for _, part := range w.clocks(s) {
			e.add(w.one(), s, join(part.label, "back"), "the clock of "+part.words+" jumps back", jump(part, -w.far()))
		}
	}
	for _, s := range slices.Concat(w.granted(), believing) {
		e.exactQuorum(s, "forward", "the clock of one node jumps forward", func(a *Action) {
			jump(part{"", "", a.Nodes}, w.far())(a)
		})
	}
	e.drifts()
	return e.all
}

// drifts let the clocks of nodes run ahead of a holder who works for longer than
// its lease, by less than a recipe should reckon with (redis.io, "Distributed
// Locks with Redis": drift). Several times, since another has to ask in the
// moment between the keys' end and the deadline. Only where leases have a
// deadline does this show anything.
func (e *enumeration) drifts() {
	if !e.Deadlines {
		return
	}
	for _, s := range e.granted() {
		for _, times := range []string{"1", "2", "3", "4", "5", "6"} {
			ahead := e.at(s, "the clocks of "+e.together().words+" run a little ahead of its lease", trio.struck[0], trio)
			ahead.Nodes, ahead.Offset, ahead.For = e.together().nodes, e.TTL/100, 2*e.outlast()
			e.plan(trio, named(s, "drift."+times), ahead, e.overruns(trio))
		}
	}
}

// clocks are the nodes whose clocks are set at a spot: those that must be set
// together, and, where a step begins, fewer.
func (w World) clocks(s spot) []part {
	all := []part{w.together()}
	if n := len(w.Nodes); s.n == 0 && n > 1 {
		all = append(all, part{"one", "one node", w.Nodes[:1]})
	}
	return all
}

// namedEvictions make nodes evict their keys at each place.
func namedEvictions(w World) []Schedule {
	e := w.enumerate("eviction")
	for _, s := range w.losing() {
		e.add(w.one(), s, "", w.together().words+" evicts its keys", func(a *Action) { a.Nodes = w.together().nodes })
	}
	for _, s := range slices.Concat(w.granted(), believing, w.boundaries(testbed.Before, testbed.StepRelease)) {
		e.exactQuorum(s, "", "one node evicts its keys", func(*Action) {})
	}
	e.slowly("evicts its keys", "", func(*Action) {})
	return e.all
}

// namedFlushes empty the script caches before each command and while the lock
// is held.
func namedFlushes(w World) []Schedule {
	e := w.enumerate("script-flush")
	for _, s := range slices.Concat(w.boundaries(testbed.Before), believing, w.reentry(testbed.Before)) {
		e.add(w.one(), s, "", "scripts are gone", func(a *Action) { a.Nodes = w.Nodes })
	}
	return e.all
}
