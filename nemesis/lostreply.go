package nemesis

import (
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lostReply lets a command run and loses its reply: replies are cut off just
// before the command is sent, for long enough that it runs.
var lostReply = Fault{
	Name:       "lost-reply",
	Doc:        "a command runs, its reply never comes",
	Color:      "#7b1fa2",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      lostReplyPlans,
	named:      namedLostReplies,
	effect:     history.ReplyLost,
	aim:        aimAtLinks,
	inject:     linkFault(cut),
}

func lostReplyPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	command := func(idea string, places []place) {
		for _, p := range places {
			a := w.action("lost-reply", idea, p, testbed.Before)
			a.Nodes, a.Direction, a.For = w.reach(p), testbed.Downstream, w.brief()
			// What is left in Redis without an owner keeps others out for a lease.
			moves = append(moves, move{Action: a, gap: w.TTL + w.TTL/10})
		}
	}
	command("a renewal runs, its client is not told", w.renewals())
	command("the lock is granted, its client is not told", w.first(testbed.StepAcquire))
	command("an acquire's later command runs, its client is not told", w.between(testbed.StepAcquire))
	command("a release's last command runs, its client is not told", w.last(testbed.StepRelease))
	if len(w.between(testbed.StepRelease)) > 0 {
		command("a release's first command runs, its client is not told", w.first(testbed.StepRelease))
	}
	return w.pack(moves, 3, r)
}
