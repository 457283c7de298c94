package nemesis

import (
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// reset breaks a client's connections around a command: it may have run or
// not, and the client cannot know.
var reset = Fault{
	Name:       "reset",
	Doc:        "a client's connections are reset around a command",
	Color:      "#5d4037",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      resetPlans,
	named:      namedResets,
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
