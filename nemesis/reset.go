package nemesis

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// reset breaks a client's connections around a command: the client cannot know whether the
// command ran. New connections are reset too while the fault is in force.
var reset = Fault{
	Name:       "reset",
	Doc:        "a client's connections are reset around a command: once, for a while, or for longer than the lease",
	Color:      "#5d4037",
	Needs:      []testbed.Capability{testbed.CanNetwork},
	Topologies: sameTopology,
	Plans:      drawnResets,
	schedules:  namedResets,
	effect:     history.Reset,
	aim:        aimAtLinks,
	inject:     linkFault(resetLink),
}

func drawnResets(w World, r *rand.Rand) []Plan {
	d := w.draw()
	breaks := func(spots []spot, idea string) {
		d.add(spots, idea, func(m *move) {
			m.For, m.gap = w.forAWhile(), w.TTL
			w.reach(&m.Action)
		})
	}
	breaks(w.halfway(testbed.Before, testbed.StepAcquire), "reset with its acquire half done")
	breaks(w.firstCommand(testbed.Sent, testbed.StepAcquire), "reset when its acquire is on its way")
	breaks(w.lastCommand(testbed.Sent, testbed.StepRelease), "reset when its release is on its way")
	breaks(w.renewals(testbed.Sent), "reset as it renews")
	breaks(w.firstCommand(testbed.Before, testbed.StepRelease), "reset before it releases")
	breaks(w.halfway(testbed.Before, testbed.StepRelease), "reset with its release half done")
	breaks(w.firstCommand(testbed.Before, testbed.StepAcquire), "reset before it asks")
	breaks(begins(testbed.StepHold), "the holder's idle connections are reset")
	return d.plans(3, r)
}

// forAWhile returns how long most resets stay in force. Meanwhile new connections are reset too.
func (w World) forAWhile() time.Duration { return w.TTL / 10 }

// namedResets breaks connections around each command, and idle connections. Other schedules
// reset only once, so that the client can reconnect immediately, or for longer than the
// lease.
func namedResets(w World) []Schedule {
	e := w.enumerate()
	breaks := func(l lineup, s spot, part part) {
		e.add(l, s, part.label, "its connections are reset to "+part.words, func(a *Action) {
			a.Nodes, a.For = part.nodes, w.forAWhile()
		})
	}
	for _, when := range whens {
		for _, s := range slices.Concat(w.boundaries(when), w.reentry(when)) {
			lineups := w.oneAndTwoStruck()
			if when == testbed.Sent {
				lineups = w.lineups(s)
			}
			for _, part := range w.partsAt(s) {
				for _, l := range lineups {
					breaks(l, s, part)
				}
			}
		}
	}
	for _, s := range believing {
		for _, part := range w.partsAt(s) {
			breaks(w.one(), s, part)
		}
	}
	e.resetsOnceAndForLong()
	return e.all
}

// resetsOnceAndForLong resets one client's connections to its node, or to a majority of
// several nodes, either once or for longer than the lease. A single reset must strike
// messages in flight: an idle connection would be replaced at its next use, without any
// harm.
func (e *enumeration) resetsOnceAndForLong() {
	all := e.together()
	breaks := func(s spot, variant, idea string, length time.Duration) {
		e.add(e.one(), s, variant, "its connections are reset "+idea+", to "+all.words, func(a *Action) { a.Nodes, a.For = all.nodes, length })
	}
	for _, s := range slices.Concat(
		first(e.boundaries(testbed.Sent, testbed.StepAcquire)), first(e.boundaries(testbed.Sent, testbed.StepRelease)),
	) {
		breaks(s, "once", "once", 0)
	}
	for _, s := range append(first(e.boundaries(testbed.Before, testbed.StepAcquire)), believing[0]) {
		breaks(s, "long", "for longer than the lease", e.outlast())
	}
}
