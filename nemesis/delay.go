package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// delay holds messages back and delivers them late, in order, also those of a
// client that has given up: a release after the next grant, a SET after its
// cleanup.
var delay = Fault{
	Name:       "delay",
	Doc:        "requests or replies are held and delivered late, also when their sender has given up",
	Color:      "#fbc02d",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      delayPlans,
	named:      namedDelays,
	effect:     history.Delayed,
	aim:        aimAtLinks,
	inject:     linkFault(hold),
}

func delayPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	add := func(idea string, places []place, d testbed.Direction, atLeast time.Duration, until *Trigger, limit time.Duration) {
		for _, p := range places {
			a := w.action("delay", idea, p, testbed.Before)
			a.Nodes, a.Direction, a.For, a.Until, a.Limit = w.reach(p), d, atLeast, until, limit
			moves = append(moves, move{Action: a, cost: max(atLeast, w.lease()), gap: w.TTL / 5})
		}
	}
	// One connection is slow: what its client sends on others comes first.
	overtaken := func(idea string, places []place, until *Trigger, limit time.Duration) {
		n := len(moves)
		add(idea, places, testbed.Upstream, w.timeout()+w.TTL/20, until, limit)
		for i := range moves[n:] {
			moves[n+i].OneConn = true
		}
	}
	granted, gone := w.other(testbed.StepHold), w.timeout()+w.TTL/20
	// A reader gets in beside a reader: there the lease must be over first.
	var expired time.Duration
	if w.Claims.ReadWrite {
		expired = w.TTL + w.TTL/10
	}
	add("a release arrives after the next grant", w.last(testbed.StepRelease), testbed.Upstream, expired, granted, w.outlast())
	if len(w.between(testbed.StepRelease)) > 0 {
		add("a release's first command arrives after the next grant", w.first(testbed.StepRelease), testbed.Upstream, expired, granted, w.outlast())
	}
	add("a renewal arrives after the next grant", w.renewals(), testbed.Upstream, expired, granted, w.outlast())
	again := w.step(testbed.StepHold)
	again.Who = Same
	overtaken("a release arrives when its client holds the lock again", w.last(testbed.StepRelease), again, gone+2*w.outlast())
	overtaken("a request arrives when its client has given up and cleaned up", w.first(testbed.StepAcquire), w.other(testbed.StepRest), gone+w.TTL/2)
	add("a grant arrives late", w.last(testbed.StepAcquire), testbed.Downstream, 0, granted, w.outlast())
	add("an acquire's later command arrives late", w.between(testbed.StepAcquire), testbed.Upstream, 0, granted, w.outlast())
	return w.pack(moves, 2, r)
}
