package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// clientCrash stops a client for ever. Its history is sealed before anything
// takes effect, and the place where it stopped is the proof.
var clientCrash = Fault{
	Name:       "client-crash",
	Doc:        "a client stops for ever at a chosen point; it never releases",
	Color:      "#d32f2f",
	Needs:      []testbed.Capability{testbed.CanClients},
	Topologies: sameTopology,
	Plans:      crashPlans,
	named:      namedCrashes,
	deadly:     true,
	freezes:    true,
	effect:     history.Crashed,
	aim:        aimAtClient,
	inject: func(_ context.Context, s *strike) (heal, error) {
		if err := s.rec.Crash(s.client); err != nil {
			return nil, err
		}
		if err := s.env.(testbed.Clients).CrashClient(s.client); err != nil {
			return nil, fmt.Errorf("crash %s: %w", clientName(s.client), err)
		}
		return func(context.Context) (result, error) {
			return result{1, s.impact()}, nil
		}, nil
	},
}

func crashPlans(w World, r *rand.Rand) []Plan {
	var moves []move
	add := func(a Action) {
		// Until the dead client's lock is open again nothing else can be shown.
		moves = append(moves, move{Action: a, gap: w.outlast()})
	}
	command := func(idea string, when testbed.When, places []place) {
		for _, p := range places {
			add(w.action("client-crash", idea, p, when))
		}
	}
	command("dies with its acquire half done", testbed.Before, w.between(testbed.StepAcquire))
	add(w.during("client-crash", "dies as the holder", testbed.StepHold))
	command("dies when its acquire is on its way", testbed.Sent, w.first(testbed.StepAcquire))
	command("dies with its release half done", testbed.Before, w.between(testbed.StepRelease))
	command("dies before it releases", testbed.Before, w.first(testbed.StepRelease))
	command("dies when its lock is granted, before it knows", testbed.Replied, w.last(testbed.StepAcquire))
	command("dies when its release is on its way", testbed.Sent, w.last(testbed.StepRelease))
	command("dies while it renews", testbed.Sent, w.renewals())
	add(w.during("client-crash", "dies between look and touch", testbed.StepTouch))
	command("dies before it asks", testbed.Before, w.first(testbed.StepAcquire))
	// One client must live to tell whether the lock is open again.
	return append(w.rivals(r), w.pack(moves, min(2, w.Clients-1), r)...)
}

// rivals are plans that leave a dead holder's lock to the others and stall the
// first of them half-way through taking it over, until another has it. The
// commands of a takeover are none that a calm trial shows: they come after the
// last of those, and only where an acquire is more than one command.
func (w World) rivals(r *rand.Rand) []Plan {
	last := w.last(testbed.StepAcquire)
	if w.Clients < 3 || len(w.Nodes) > 1 || len(last) == 0 || last[0].n < 2 || w.Claims.Recovery == 0 {
		return nil
	}
	next := place{testbed.StepAcquire, last[0].node, last[0].n + 1}
	stall := Action{
		Fault: clientPauseName, Idea: "stalls half-way through taking over a dead client's lock",
		Client: history.NoClient, Point: w.at(next, testbed.Before), Until: w.other(testbed.StepHold), Limit: w.retries(),
	}
	crash := move{Action: w.during("client-crash", "dies as the holder, with two rivals waiting", testbed.StepHold)}
	p := w.sequence([]move{crash, {Action: stall}}, r)
	if p[1].By < p[0].At+w.outlast() {
		return nil
	}
	return []Plan{p}
}
