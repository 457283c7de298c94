package nemesis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// clientPause freezes a client, as a garbage collection, a SIGSTOP or a
// migration would, and lets it go on. The places aimed at all have something at
// stake, so that having frozen the client there, for as long as planned, is the
// proof.
var clientPause = Fault{
	Name:       clientPauseName,
	Doc:        "a client freezes at a chosen point, longer than the lease or until another has the lock, then goes on",
	Color:      "#f57c00",
	Needs:      []testbed.Capability{testbed.CanClients},
	Topologies: sameTopology,
	Plans:      pausePlans,
	named:      namedPauses,
	freezes:    true,
	effect:     history.Paused,
	aim:        aimAtClient,
	inject: func(_ context.Context, s *strike) (heal, error) {
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

func pausePlans(w World, r *rand.Rand) []Plan {
	var moves []move
	// A reader gets in beside a reader: there a pause must outlast the lease first.
	var atLeast time.Duration
	if w.Claims.ReadWrite {
		atLeast = w.TTL + w.TTL/10
	}
	add := func(a Action, until string) {
		a.Nodes = nil
		a.For, a.Until, a.Limit = atLeast, w.other(until), w.outlast()
		moves = append(moves, move{Action: a, cost: w.lease(), gap: w.TTL / 10})
	}
	command := func(idea string, when testbed.When, places []place, until string) {
		for _, p := range places {
			add(w.action(clientPauseName, idea, p, when), until)
		}
	}
	command("freezes with its acquire half done, until another has the lock", testbed.Before, w.between(testbed.StepAcquire), testbed.StepHold)
	command("freezes before it releases, until another has the lock", testbed.Before, w.first(testbed.StepRelease), testbed.StepHold)
	command("freezes with its release half done, until another has the lock", testbed.Before, w.between(testbed.StepRelease), testbed.StepHold)
	add(w.during(clientPauseName, "freezes between look and touch, until another is about to touch", testbed.StepTouch), testbed.StepTouch)
	for _, p := range w.first(testbed.StepAcquire) {
		moves = append(moves, w.stale(p))
	}
	add(w.during(clientPauseName, "freezes as the holder, until another is about to touch", testbed.StepHold), testbed.StepTouch)
	command("freezes when its lock is granted, before it knows, until another has it", testbed.Replied, w.last(testbed.StepAcquire), testbed.StepHold)
	command("freezes while it renews, until another has the lock", testbed.Before, w.renewals(), testbed.StepHold)
	return w.pack(moves, 3, r)
}

// stale freezes a client between reading its clock and its first command,
// longer than a time that it may write there lasts, and lets it go on when the
// lock is free.
func (w World) stale(p place) move {
	a := w.action(clientPauseName, "freezes before it asks, and asks with what it knew long ago", p, testbed.Before)
	a.Nodes = nil
	a.For = w.outlast()
	a.Until, a.Limit = w.other(testbed.StepRest), a.For+w.TTL/2
	return move{Action: a, cost: a.For + w.Hold, gap: w.TTL / 10}
}
