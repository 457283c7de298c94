package nemesis

import (
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lostReply lets a command run and loses its reply: it cuts replies off just before the
// command is sent, for long enough that the command runs.
var lostReply = Fault{
	Name:       "lost-reply",
	Doc:        "a command runs, its reply never comes",
	Color:      "#7b1fa2",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      drawnLostReplies,
	schedules:  namedLostReplies,
	effect:     history.ReplyLost,
	aim:        aimAtLinks,
	inject:     linkFault(testbed.Network.Cut),
}

func drawnLostReplies(w World, r *rand.Rand) []Plan {
	d := w.draw()
	lost := func(spots []spot, idea string) {
		d.add(spots, idea+", its client is not told", func(m *move) {
			m.Direction, m.For = testbed.Downstream, w.brief()
			w.reach(&m.Action)
			// The next action waits for a lease, since a grant that its client never heard of keeps other
			// clients out until it expires.
			m.gap = w.TTL + w.TTL/10
		})
	}
	lost(w.renewals(testbed.Before), "a renewal runs")
	lost(w.firstCommand(testbed.Before, testbed.StepAcquire), "the lock is granted")
	lost(w.halfway(testbed.Before, testbed.StepAcquire), "an acquire's later command runs")
	lost(w.lastCommand(testbed.Before, testbed.StepRelease), "a release's last command runs")
	if len(w.halfway(testbed.Before, testbed.StepRelease)) > 0 {
		lost(w.firstCommand(testbed.Before, testbed.StepRelease), "a release's first command runs")
	}
	return d.plans(3, r)
}

// namedLostReplies loses the reply of each command once.
func namedLostReplies(w World) []Schedule {
	e := w.enumerate()
	for _, s := range w.requests() {
		for _, part := range w.partsAt(s) {
			for _, l := range w.lineups(s) {
				e.add(l, s, part.label, "it runs, its client is not told by "+part.words, func(a *Action) {
					a.Nodes, a.Direction, a.For = part.nodes, testbed.Downstream, w.brief()
				})
			}
		}
	}
	return e.all
}
