package nemesis

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// The time that the harness needs to inject and heal a fault must not count against clients. Either no
// client waits meanwhile, or the history records the wait, or the wait is part of a fault that
// freezes the client anyway.
func TestAClientIsHeldByASlowWorldOnRecordOnly(t *testing.T) {
	begins := func(step string) *Trigger { return &Trigger{Clients: []int{0}, Step: step} }
	for name, c := range map[string]struct {
		action  Action
		held    time.Duration // how long the client is held at the beginning of the steps hold and touch
		stalled []time.Duration
	}{
		"a restart holds nobody": {Action{Fault: "node-restart", Point: begins(testbed.StepHold)}, 0, nil},
		"a restart that ends with a client's step holds nobody": {
			Action{Fault: "node-restart", Point: begins(testbed.StepHold), Until: begins(testbed.StepTouch), Limit: 5 * time.Second}, 0, nil,
		},
		"a strike at a client's step holds the client": {
			Action{Fault: "script-flush", Point: begins(testbed.StepHold)}, slowness, []time.Duration{slowness},
		},
		"a pause at the client's own step holds it twice": {Action{Fault: "client-pause", Point: begins(testbed.StepHold), For: slowness}, 2 * slowness, nil},
		"a strike at an instant holds nobody":             {Action{Fault: "script-flush"}, 0, nil},
		"a heal at a client's step holds the client": {
			Action{Fault: "node-pause", At: 100 * time.Millisecond, Until: begins(testbed.StepTouch), Limit: 5 * time.Second},
			slowness, []time.Duration{slowness},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := c.action
			a.ID, a.Nodes, a.Client, a.By = 1, []string{"n0"}, history.NoClient, time.Second
			ops := bubble(t, Plan{a}, func(ctx context.Context, e *fakeEnv) {
				e.meddle = meddling{"restart n0": slow, "flush n0": slow, "raise c0": slow, "lift n0": slow}
				time.Sleep(time.Second / 2)
				began := e.Now()
				for _, step := range []string{testbed.StepHold, testbed.StepTouch} {
					_ = e.clients[0].Step(ctx, step)
				}
				if held := e.Now() - began; held != c.held {
					t.Errorf("the client was held for %v, want %v", held, c.held)
				}
			})
			var stalled []time.Duration
			for _, op := range ops {
				if op.F == history.FStall {
					stalled = append(stalled, op.Offset)
				}
			}
			if len(stalled) != len(c.stalled) || len(stalled) > 0 && stalled[0] != c.stalled[0] {
				t.Errorf("stalls on record: %v, want %v", stalled, c.stalled)
			}
		})
	}
}

func TestAFaultIsHealedWhenItsStallCannotBeRecorded(t *testing.T) {
	p := Plan{{
		ID: 1, Fault: "partition", Idea: "slowly cut off", Client: history.NoClient, Nodes: []string{"n0"}, Direction: testbed.Both,
		Point: &Trigger{Clients: []int{0}, Step: testbed.StepHold}, By: time.Second, For: time.Second,
	}}
	_, err := play(t, p, nil, func(ctx context.Context, e *fakeEnv) {
		e.meddle = meddling{"raise c0-n0 upstream": func(ctx context.Context) error { return errors.Join(slow(ctx), e.seal(ctx)) }}
		go func() {
			time.Sleep(time.Second / 2)
			_ = e.clients[0].Step(ctx, testbed.StepHold)
		}()
	})
	if !errors.Is(err, history.ErrSealed) {
		t.Errorf("Run = %v, want %v", err, history.ErrSealed)
	}
}
