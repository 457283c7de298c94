package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// delay holds messages back and delivers them late, in order, even if the client has given up. For
// example, a release arrives after the next grant, or a SET after the cleanup that should remove
// its key.
var delay = Fault{
	Name:       "delay",
	Doc:        "requests or replies are held up and delivered late, some after their sender has given up",
	Color:      "#fbc02d",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      drawnDelays,
	schedules:  namedDelays,
	effect:     history.Delayed,
	aim:        aimAtLinks,
	inject:     linkFault(testbed.Network.Hold),
}

func drawnDelays(w World, r *rand.Rand) []Plan {
	d, l := w.draw(), w.crowd()
	late := func(spots []spot, idea string, atLeast time.Duration, until *Trigger, limit time.Duration, more func(*Action)) {
		d.add(spots, idea, func(m *move) {
			m.Direction, m.For, m.Until, m.Limit = testbed.Upstream, atLeast, until, limit
			m.cost, m.gap = max(atLeast, w.lease()), w.TTL/5
			w.reach(&m.Action)
			more(&m.Action)
		})
	}
	granted := func(spots []spot, idea string, atLeast time.Duration, more func(*Action)) {
		late(spots, idea, atLeast, l.others(testbed.StepHold), w.outlast(), more)
	}
	request := func(*Action) {}
	reply := func(a *Action) { a.Direction = testbed.Downstream }
	// Only one connection is slow: messages on the client's other connections overtake the held
	// ones.
	overtaken := func(a *Action) { a.OneConn = true }

	granted(w.lastCommand(testbed.Before, testbed.StepRelease), "a release arrives after the next grant", w.readable(), request)
	if len(w.halfway(testbed.Before, testbed.StepRelease)) > 0 {
		granted(w.firstCommand(testbed.Before, testbed.StepRelease), "a release's first command arrives after the next grant", w.readable(), request)
	}
	granted(w.renewals(testbed.Before), "a renewal arrives after the next grant", w.readable(), request)
	late(w.lastCommand(testbed.Before, testbed.StepRelease), "a release arrives when its client holds the lock again",
		w.givenUp(), l.itself(testbed.StepHold), w.givenUp()+2*w.outlast(), overtaken)
	late(w.firstCommand(testbed.Before, testbed.StepAcquire), "a request arrives when its client has given up and cleaned up",
		w.givenUp(), l.others(testbed.StepRest), w.givenUp()+w.TTL/2, overtaken)
	granted(w.lastCommand(testbed.Before, testbed.StepAcquire), "a grant arrives late", 0, reply)
	granted(w.halfway(testbed.Before, testbed.StepAcquire), "an acquire's later command arrives late", 0, request)
	return d.plans(2, r)
}

// namedDelays delivers each command, and each reply, late.
func namedDelays(w World) []Schedule {
	e := w.enumerate()
	for _, s := range w.requests() {
		for _, part := range w.partsAt(s) {
			e.delays(s, part)
		}
	}
	for _, s := range w.releases() {
		e.anew(s)
	}
	e.lateGrants()
	e.crossed(func(a *Action) { a.Direction = testbed.Upstream })
	return e.all
}

// delays makes the request at a spot arrive late: either when another client has the lock, or after
// the sender's clean-up, which uses another connection. In the second case the request arrives at
// the sender's next attempt, when the lock is free, or when the sender holds the lock again. One
// more schedule makes the reply arrive when another client has the lock.
func (e *enumeration) delays(s spot, part part) {
	one, gone := e.one(), e.givenUp()
	late := func(d testbed.Direction, oneConn bool, atLeast time.Duration, until *Trigger, limit time.Duration) func(*Action) {
		return func(a *Action) {
			a.Nodes, a.Direction, a.OneConn, a.For, a.Until, a.Limit = part.nodes, d, oneConn, atLeast, until, limit
		}
	}
	add := func(l lineup, variant, idea string, shape func(*Action)) {
		e.add(l, s, join(part.label, variant), idea, shape)
	}
	for _, l := range e.oneAndTwoStruck() {
		add(l, "", "it arrives when another has the lock",
			late(testbed.Upstream, false, e.readable(), l.others(testbed.StepHold), time.Duration(len(l.struck))*e.outlast()))
	}
	add(one, "free", "it arrives when its client has given up and the lock is free",
		late(testbed.Upstream, true, gone, one.others(testbed.StepRest), gone+e.TTL))
	const again = "it arrives when its client holds the lock again"
	add(one, "again", again, late(testbed.Upstream, true, e.moment(), one.itself(testbed.StepHold), gone+2*e.outlast()))
	if s.step == testbed.StepRelease {
		e.writers(s, join(part.label, "again"), again,
			late(testbed.Upstream, true, e.moment(), pair.itself(testbed.StepHold), gone+2*e.outlast()))
	}
	if s.step == testbed.StepAcquire {
		for _, l := range e.lineups(s)[1:] {
			add(l, "next", "it arrives when its client has cleaned up and tries again",
				late(testbed.Upstream, true, e.moment(), l.itself(testbed.StepAcquire), gone+e.TTL))
		}
	}
	add(one, "reply", "its reply arrives when another has the lock",
		late(testbed.Downstream, false, e.readable(), one.others(testbed.StepHold), e.outlast()))
}

// anew delivers a client's release late, when the client already holds the lock again. By then the
// client's first lease has ended, and another client has had the lock.
func (e *enumeration) anew(s spot) {
	if len(e.Nodes) > 1 {
		return
	}
	l, who := e.one(), []int{0}
	late := e.at(s, "it arrives when its client has taken the lock anew", who, l)
	late.Direction, late.OneConn = testbed.Upstream, true
	late.For, late.Until = e.givenUp(), l.itself(testbed.StepHold)
	late.Limit = late.For + 4*e.outlast()
	slow := e.pause(beginning(testbed.StepRest), "is slow to come back, until another had the lock", who, l)
	slow.Arm = s.trigger(who)
	slow.For, slow.Until, slow.Limit = e.TTL, l.others(testbed.StepRest), 2*e.outlast()
	e.plan(l, scheduleName(s, "anew"), late, slow)
}

// lateGrants delivers a grant late, but before the client gives up and before it sends the command again
// (readTimeout). The client then works for longer than its lease. A deadline counted from the reply is
// later than the end of the key. lateGrants adds no schedule if leases have no deadline.
func (e *enumeration) lateGrants() {
	if !e.Deadlines {
		return
	}
	l := e.one()
	for _, s := range e.boundaries(testbed.Before, testbed.StepAcquire) {
		late := e.at(s, "its reply comes late, but in time", l.struck[0], l)
		late.Nodes, late.Direction, late.For = e.together().nodes, testbed.Downstream, 3*min(e.timeout(), readTimeout)/4
		e.plan(l, scheduleName(s, "in-time"), late, e.overrunLease(l))
	}
}
