package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// clientCrash stops a client for ever. The client's history is sealed before the crash
// takes effect. The proof is the point at which the client stopped.
var clientCrash = Fault{
	Name:       "client-crash",
	Doc:        "a client stops for ever at a chosen point; it never releases",
	Color:      "#d32f2f",
	Needs:      []testbed.Capability{testbed.CanClients},
	Topologies: sameTopology,
	Plans:      drawnCrashes,
	schedules:  namedCrashes,
	deadly:     true,
	freezes:    true,
	effect:     history.Crashed,
	aim:        aimAtClient,
	inject: func(_ context.Context, s *injection) (heal, error) {
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

func drawnCrashes(w World, r *rand.Rand) []Plan {
	d := w.draw()
	dies := func(spots []spot, idea string) {
		// The next action waits until the dead client's lock can be acquired again.
		d.add(spots, "dies "+idea, func(m *move) { m.gap = w.outlast() })
	}
	dies(w.halfway(testbed.Before, testbed.StepAcquire), "with its acquire half done")
	dies(begins(testbed.StepHold), "as the holder")
	dies(w.firstCommand(testbed.Sent, testbed.StepAcquire), "when its acquire is on its way")
	dies(w.halfway(testbed.Before, testbed.StepRelease), "with its release half done")
	dies(w.firstCommand(testbed.Before, testbed.StepRelease), "before it releases")
	dies(w.lastCommand(testbed.Replied, testbed.StepAcquire), "when its lock is granted, before it knows")
	dies(w.lastCommand(testbed.Sent, testbed.StepRelease), "when its release is on its way")
	dies(w.renewals(testbed.Sent), "while it renews")
	dies(begins(testbed.StepTouch), "when it has checked its lease, before it touches the resource")
	dies(w.firstCommand(testbed.Before, testbed.StepAcquire), "before it asks")
	// One client must survive to show whether the lock can be acquired again.
	return append(w.rivals(r), d.plans(min(2, w.Clients-1), r)...)
}

// rivals returns at most one plan. In it, the holder dies, and the first client to take over its
// lock stalls half-way until another client has the lock. If the acquires of the probe trial send up
// to n commands, a takeover sends more. So the stall comes before command n+1 of an acquire. Where n
// is 1, no takeover is expected.
func (w World) rivals(r *rand.Rand) []Plan {
	calm := w.lastCommand(testbed.Before, testbed.StepAcquire)
	if w.Clients < 3 || len(w.Nodes) > 1 || len(calm) == 0 || calm[0].n < 2 || w.Claims.Recovery == 0 {
		return nil
	}
	next, l := calm[0], w.crowd()
	next.n++
	crash := w.action(beginning(testbed.StepHold), "dies as the holder, with two rivals waiting", l.everyone(), l)
	stall := Action{
		Fault: clientPauseName, Idea: "stalls half-way through taking over a dead client's lock",
		Client: history.NoClient, Point: next.trigger(l.everyone()), Until: l.others(testbed.StepHold), Limit: w.retries(),
	}
	p := w.sequence([]move{{Action: crash}, {Action: stall}}, r)
	if p[1].By < p[0].At+w.outlast() {
		return nil
	}
	return []Plan{p}
}

// namedCrashes kills one client, or two in succession, before each command, when the command is
// sent, and when its reply arrives; and at the beginning of each step in which the client believes
// that it holds the lock.
func namedCrashes(w World) []Schedule {
	e := w.enumerate()
	dies := func(a *Action) { a.Nodes = nil }
	for _, s := range slices.Concat(
		w.boundaries(testbed.Before), w.boundaries(testbed.Sent), w.boundaries(testbed.Replied),
		believing, w.reentry(testbed.Before), w.reentry(testbed.Replied),
	) {
		for _, l := range w.oneAndTwoStruck() {
			e.add(l, s, "", "dies", dies)
		}
	}
	for _, s := range append(begins(testbed.StepHold), w.later()...) {
		if s.n <= 2 {
			e.rivals(s, "", "dies, with two rivals waiting", dies)
		}
	}
	return e.all
}
