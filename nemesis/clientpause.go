package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// clientPause freezes a client for a while, as a garbage collection, a SIGSTOP or a
// migration would. A pause at any of its spots can endanger the lock, so the proof is that
// the client was frozen there until Until was reached or for the planned time.
var clientPause = Fault{
	Name:       clientPauseName,
	Doc:        "a client freezes at a chosen point, longer than the lease or until another has the lock, then goes on",
	Color:      "#f57c00",
	Needs:      []testbed.Capability{testbed.CanClients},
	Topologies: sameTopology,
	Plans:      drawnPauses,
	schedules:  namedPauses,
	sweep:      frozen,
	freezes:    true,
	effect:     history.Paused,
	aim:        aimAtClient,
	inject: func(_ context.Context, s *injection) (heal, error) {
		undo, err := s.env.(testbed.Clients).PauseClient(s.client)
		if err != nil {
			return nil, fmt.Errorf("pause %s: %w", clientName(s.client), err)
		}
		return func(ctx context.Context) (result, error) {
			lasted, planned := s.env.Now()-s.from, s.ended != nil || s.env.Now()-s.from >= s.action.length()
			r := result{impact: s.lasted()}
			waited, err := undo(ctx)
			r.impact.Messages = waited
			if planned && lasted > 0 {
				r.hits = 1
			}
			return r, err
		}, nil
	},
}

func drawnPauses(w World, r *rand.Rand) []Plan {
	d := w.draw()
	until := func(step string, spots []spot, idea string) {
		d.add(spots, idea, func(m *move) {
			m.Nodes = nil
			m.For, m.Until, m.Limit = w.readable(), w.crowd().others(step), w.outlast()
			m.cost, m.gap = w.lease(), w.TTL/10
		})
	}
	until(testbed.StepHold, w.halfway(testbed.Before, testbed.StepAcquire), "freezes with its acquire half done, until another has the lock")
	until(testbed.StepHold, w.firstCommand(testbed.Before, testbed.StepRelease), "freezes before it releases, until another has the lock")
	until(testbed.StepHold, w.halfway(testbed.Before, testbed.StepRelease), "freezes with its release half done, until another has the lock")
	until(testbed.StepTouch, begins(testbed.StepTouch), "freezes when it has checked its lease, until another is about to touch the resource")
	// The client has read its clock before the pause, and writes an outdated time after it.
	d.add(w.firstCommand(testbed.Before, testbed.StepAcquire), "freezes before it asks, so that it asks with an outdated time", func(m *move) {
		m.Nodes, m.For = nil, w.outlast()
		m.Until, m.Limit = w.crowd().others(testbed.StepRest), m.For+w.TTL/2
		m.cost, m.gap = m.For+w.Hold, w.TTL/10
	})
	until(testbed.StepTouch, begins(testbed.StepHold), "freezes as the holder, until another is about to touch the resource")
	until(testbed.StepHold, w.lastCommand(testbed.Replied, testbed.StepAcquire), "freezes when its lock is granted, before it knows, until another has it")
	until(testbed.StepHold, w.renewals(testbed.Before), "freezes while it renews, until another has the lock")
	return d.plans(3, r)
}

// namedPauses freezes one client, or two, before each command, when its reply arrives, and at the
// beginning of each step in which the client believes that it holds the lock. The pause ends at one
// of these moments: another client has the lock, is about to touch the resource, or has released
// the lock; a fixed time is over; or the lock is free again.
func namedPauses(w World) []Schedule {
	e, one := w.enumerate(), w.one()
	freezes := func(atLeast time.Duration, until *Trigger, limit time.Duration) func(*Action) {
		return func(a *Action) { a.Nodes, a.For, a.Until, a.Limit = nil, atLeast, until, limit }
	}
	asks := w.requests()
	for _, s := range slices.Concat(asks, w.boundaries(testbed.Replied), believing, w.reentry(testbed.Replied)) {
		for _, l := range w.oneAndTwoStruck() {
			e.add(l, s, "", "freezes until another has the lock",
				freezes(w.readable(), l.others(testbed.StepHold), time.Duration(len(l.struck))*w.outlast()))
		}
	}
	for _, s := range w.holding() {
		e.add(one, s, "touch", "freezes until another is about to touch the resource",
			freezes(w.readable(), one.others(testbed.StepTouch), w.outlast()))
	}
	for _, s := range slices.Concat(w.later(), w.granted()) {
		e.add(one, s, "within", "freezes within its lease until another has had the lock",
			freezes(0, one.others(testbed.StepRest), w.TTL/2))
	}
	for _, s := range slices.Concat(asks, believing) {
		e.add(one, s, "long", "freezes for longer than the lease", freezes(w.outlast(), nil, 0))
	}
	for _, s := range asks {
		const idea = "freezes for longer than the lease, until the lock is free again"
		e.add(one, s, "free", idea, freezes(w.outlast(), one.others(testbed.StepRest), w.outlast()+w.TTL))
		e.writers(s, "free", idea, freezes(w.outlast(), pair.others(testbed.StepRest), w.outlast()+w.TTL))
	}
	e.crossed(func(a *Action) { a.Nodes = nil })
	return e.all
}
