package nemesis

import (
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// part is some of the nodes, as a schedule's name and idea call them.
type part struct {
	label, words string
	nodes        []string
}

// parts are the nodes, or the links to them, that are struck at a spot: the one
// that the command goes to, and, where a step begins, a majority of several, a
// minority, one, all.
func (w World) parts(s spot) []part {
	n, quorum := len(w.Nodes), w.quorum()
	majority := part{"majority", "a majority of nodes", w.Nodes[:quorum]}
	switch {
	case n == 1:
		return []part{{"", "its node", w.Nodes}}
	case s.n > 1:
		return []part{{"", s.node, []string{s.node}}}
	case s.n == 1 && s.node == w.Nodes[0]:
		return []part{{"", s.node, []string{s.node}}, majority}
	case s.n == 1:
		return []part{{"", s.node, []string{s.node}}}
	}
	all := []part{majority}
	if n-quorum > 1 {
		all = append(all, part{"minority", "a minority of nodes", w.Nodes[:n-quorum]})
	}
	return append(all, part{"one", "one node", w.Nodes[:1]}, part{"all", "all nodes", w.Nodes})
}

// join joins what tells variants apart.
func join(variants ...string) string {
	name := ""
	for _, v := range variants {
		if name != "" && v != "" {
			name += "."
		}
		name += v
	}
	return name
}

// namedLostReplies lose the reply of each command once.
func namedLostReplies(w World) []Schedule {
	e := w.enumerate("lost-reply")
	for _, s := range slices.Concat(w.boundaries(testbed.Before), w.reentry(testbed.Before)) {
		for _, part := range w.parts(s) {
			for _, l := range w.lineups(s) {
				e.add(l, s, part.label, "it runs, its client is not told by "+part.words, func(a *Action) {
					a.Nodes, a.Direction, a.For = part.nodes, testbed.Downstream, w.brief()
				})
			}
		}
	}
	return e.all
}

// namedDelays deliver each command, and each reply, late.
func namedDelays(w World) []Schedule {
	e := w.enumerate("delay")
	for _, s := range slices.Concat(w.boundaries(testbed.Before), w.reentry(testbed.Before)) {
		for _, part := range w.parts(s) {
			e.delays(s, part)
		}
	}
	for _, s := range w.boundaries(testbed.Before, testbed.StepRelease) {
		e.anew(s)
	}
	e.lateGrants()
	e.crossed(func(a *Action) { a.Direction = testbed.Upstream })
	return e.all
}

// delays deliver what is sent at a spot late: until another has the lock; past
// the clean-up of its own client, which goes on over another connection: at its
// next attempt, when the lock is free, when it holds the lock again.
func (e *enumeration) delays(s spot, part part) {
	one := e.one()
	add := func(l lineup, variant, idea string, d testbed.Direction, atLeast time.Duration, until *Trigger, limit time.Duration) {
		e.add(l, s, join(part.label, variant), idea, func(a *Action) {
			a.Nodes, a.Direction, a.For, a.Until, a.Limit = part.nodes, d, atLeast, until, limit
			a.OneConn = variant != "" && d == testbed.Upstream
		})
	}
	for _, l := range e.both() {
		add(l, "", "it arrives when another has the lock", testbed.Upstream, e.readable(), l.others(testbed.StepHold),
			time.Duration(len(l.struck))*e.outlast())
	}
	gone := e.timeout() + e.TTL/20
	add(one, "free", "it arrives when its client has given up and the lock is free", testbed.Upstream, gone,
		one.others(testbed.StepRest), gone+e.TTL)
	const again = "it arrives when its client holds the lock again"
	add(one, "again", again, testbed.Upstream, e.TTL/100, one.itself(testbed.StepHold), gone+2*e.outlast())
	if s.step == testbed.StepRelease {
		e.writers(s, join(part.label, "again"), again, func(a *Action) {
			a.Nodes, a.Direction, a.OneConn = part.nodes, testbed.Upstream, true
			a.For, a.Until, a.Limit = e.TTL/100, pair.itself(testbed.StepHold), gone+2*e.outlast()
		})
	}
	if s.step == testbed.StepAcquire {
		for _, l := range e.lineups(s)[1:] {
			add(l, "next", "it arrives when its client has cleaned up and tries again", testbed.Upstream, e.TTL/100,
				l.itself(testbed.StepAcquire), gone+e.TTL)
		}
	}
	add(one, "reply", "its reply arrives when another has the lock", testbed.Downstream, e.readable(),
		one.others(testbed.StepHold), e.outlast())
}

// anew delivers a release late to a client that is slow to come back: its lease
// has ended, another had the lock meanwhile, and what it holds again it has
// taken anew.
func (e *enumeration) anew(s spot) {
	l := e.one()
	if len(e.Nodes) > 1 {
		return
	}
	who := []int{0}
	late := e.at(s, "it arrives when its client has taken the lock anew", who, l)
	late.Direction, late.OneConn = testbed.Upstream, true
	late.For, late.Until = e.timeout()+e.TTL/20, l.itself(testbed.StepHold)
	late.Limit = late.For + 4*e.outlast()
	slow := e.at(begins(testbed.StepRest)[0], "is slow to come back, until another had the lock", who, l)
	slow.Fault, slow.Nodes = clientPauseName, nil
	slow.Arm = &Trigger{Clients: who, Step: s.step, Node: s.node, N: s.n, When: s.when}
	slow.For, slow.Until, slow.Limit = e.TTL, l.others(testbed.StepRest), 2*e.outlast()
	e.plan(l, named(s, "anew"), late, slow)
}

// lateGrants deliver a grant late, but within the time that its client waits,
// which then works for longer than its lease: a deadline that is counted from the
// reply lies behind the end of the key. Only where leases have a deadline does
// this show anything.
func (e *enumeration) lateGrants() {
	if !e.Deadlines {
		return
	}
	l := e.one()
	for _, s := range e.boundaries(testbed.Before, testbed.StepAcquire) {
		late := e.at(s, "its reply comes late, but in time", l.struck[0], l)
		late.Nodes, late.Direction, late.For = e.together().nodes, testbed.Downstream, 3*e.timeout()/4
		e.plan(l, named(s, "in-time"), late, e.overruns(l))
	}
}

// overruns freezes the next client that holds the lock once it was free, until
// another is about to touch what it guards.
func (e *enumeration) overruns(l lineup) Action {
	slow := e.at(begins(testbed.StepHold)[0], "overruns its lease", l.struck[0], l)
	slow.Fault, slow.Nodes = clientPauseName, nil
	slow.Arm = &Trigger{Clients: clientsTo(l.clients), Step: testbed.StepRest}
	slow.Until, slow.Limit = l.others(testbed.StepTouch), e.outlast()
	return slow
}

// namedPartitions cut a client, or two, off at each command and in each state of
// mind, for longer than the lease; at each command also briefly; and the others
// while one holds.
func namedPartitions(w World, fault string, d testbed.Direction) []Schedule {
	e := w.enumerate(fault)
	add := func(l lineup, s spot, part part, variant, idea string, others []int, length time.Duration) {
		e.add(l, s, join(part.label, variant), idea+part.words, func(a *Action) {
			a.Nodes, a.Direction, a.For, a.Others = part.nodes, d, length, others
		})
	}
	one := w.one()
	for _, s := range slices.Concat(w.boundaries(testbed.Before), believing, w.reentry(testbed.Before)) {
		for _, part := range w.parts(s) {
			for _, l := range w.both() {
				add(l, s, part, "", "is cut off for longer than the lease from ", nil, w.outlast())
			}
			if s.n > 0 {
				add(one, s, part, "short", "is cut off for a moment from ", nil, w.brief())
			}
		}
	}
	for _, s := range append(begins(testbed.StepHold), w.boundaries(testbed.Before, testbed.StepRelease)...) {
		part := part{"", "all nodes", w.Nodes}
		add(one, s, part, "others", "the others are cut off from ", clientsTo(one.clients), w.outlast())
	}
	w.Clients = trio.clients
	if ring := w.ring(); ring != nil {
		for _, s := range begins(testbed.StepHold, testbed.StepRest) {
			e.add(trio, s, "ring", "each client reaches another majority", func(a *Action) {
				a.Nodes, a.Links, a.Direction, a.For = nil, ring, d, w.outlast()
			})
		}
	}
	return e.all
}

// namedResets break connections around each command, and idle ones.
func namedResets(w World) []Schedule {
	e := w.enumerate("reset")
	for _, when := range []testbed.When{testbed.Before, testbed.Sent, testbed.Replied} {
		for _, s := range slices.Concat(w.boundaries(when), w.reentry(when)) {
			lineups := w.both()
			if when == testbed.Sent {
				lineups = w.lineups(s)
			}
			for _, part := range w.parts(s) {
				for _, l := range lineups {
					e.resets(l, s, part)
				}
			}
		}
	}
	for _, s := range believing {
		for _, part := range w.parts(s) {
			e.resets(w.one(), s, part)
		}
	}
	return e.all
}

func (e *enumeration) resets(l lineup, s spot, part part) {
	e.add(l, s, part.label, "its connections are reset to "+part.words, func(a *Action) {
		a.Nodes, a.For = part.nodes, e.TTL/10
	})
}

// exactQuorum cuts one client off from all nodes but a quorum for the whole
// trial, so that it has none to spare, and strikes the last of that quorum: with
// it, another client finds a majority. What was left on the nodes by then has
// expired.
func (e *enumeration) exactQuorum(s spot, variant, idea string, shape func(*Action)) {
	quorum := e.quorum()
	if len(e.Nodes) < 3 || quorum == len(e.Nodes) {
		return
	}
	if s.n > 0 && !slices.Contains(e.Nodes[:quorum], s.node) {
		return // its command never gets there
	}
	l := e.one()
	cutOff := Action{
		Fault: partitionName, Idea: "one client can get no more than a quorum", Client: history.NoClient,
		By: e.patience(), Direction: testbed.Both, For: 2*e.lease() + 2*e.TTL,
	}
	for _, node := range e.Nodes[quorum:] {
		cutOff.Links = append(cutOff.Links, testbed.Link{From: clientName(0), To: node})
	}
	strike := e.at(s, idea+", the last of exactly a quorum", []int{0}, l)
	strike.At = e.lease() + e.TTL/2
	strike.Nodes, strike.Quorum = e.Nodes[quorum-1:quorum], e.Claims.Quorum
	shape(&strike)
	e.plan(l, named(s, join("quorum", variant)), cutOff, strike)
}
