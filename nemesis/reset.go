package nemesis

import (
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// reset breaks a client's connections around a command: it may have run or
// not, and the client cannot know. Connections that it makes while the reset is in
// force are reset too.
var reset = Fault{
	Name:       "reset",
	Doc:        "a client's connections are reset around a command: once, for a while, or for longer than the lease",
	Color:      "#5d4037",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      resetPlans,
	named:      func(w World) []Schedule { return append(namedResets(w), resetsOnceAndForLong(w)...) },
	effect:     history.Reset,
	aim:        aimAtLinks,
	inject:     linkFault(resetLink),
}

func resetPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	command := func(idea string, when testbed.When, places []place) {
		for _, p := range places {
			a := w.action("reset", idea, p, when)
			a.Nodes, a.For = w.reach(p), w.TTL/10
			moves = append(moves, move{Action: a, gap: w.TTL})
		}
	}
	command("reset with its acquire half done", testbed.Before, w.between(testbed.StepAcquire))
	command("reset when its acquire is on its way", testbed.Sent, w.first(testbed.StepAcquire))
	command("reset when its release is on its way", testbed.Sent, w.last(testbed.StepRelease))
	command("reset as it renews", testbed.Sent, w.renewals())
	command("reset before it releases", testbed.Before, w.first(testbed.StepRelease))
	command("reset with its release half done", testbed.Before, w.between(testbed.StepRelease))
	command("reset before it asks", testbed.Before, w.first(testbed.StepAcquire))
	held := w.during("reset", "the holder's idle connections are reset", testbed.StepHold)
	held.For = w.TTL / 10
	moves = append(moves, move{Action: held, gap: w.TTL})
	return w.pack(moves, 3, r)
}

// resetsOnceAndForLong are the two ends of how long resets go on: once, after which
// the client can connect at once, and for longer than the lease. A single reset is one
// of what is on its way: an idle connection is replaced at its next use, and nobody is
// disturbed.
func resetsOnceAndForLong(w World) []Schedule {
	e := w.enumerate("reset")
	for _, step := range []string{testbed.StepAcquire, testbed.StepRelease} {
		spots := w.boundaries(testbed.Sent, step)
		e.resetEnds(spots[:min(1, len(spots))], "once", "its connections are reset once, to ", 0)
	}
	before := w.boundaries(testbed.Before, testbed.StepAcquire)
	e.resetEnds(before[:min(1, len(before))], "long", "its connections are reset for longer than the lease, to ", w.outlast())
	e.resetEnds(believing[:1], "long", "its connections are reset for longer than the lease, to ", w.outlast())
	return e.all
}

// resetEnds resets the connections of one client at these spots, to its node or to a
// majority of several, for that long.
func (e *enumeration) resetEnds(spots []spot, variant, idea string, length time.Duration) {
	all := e.together()
	for _, s := range spots {
		e.add(e.one(), s, variant, idea+all.words, func(a *Action) { a.Nodes, a.For = all.nodes, length })
	}
}
