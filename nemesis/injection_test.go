package nemesis

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// slow is a world in which some faults take the time slowness: injecting a client pause or a script
// flush, and healing a node pause or a node restart.
type slow struct{ *fakeEnv }

const slowness = 300 * time.Millisecond

func (s slow) Restart(ctx context.Context, node string) (history.Lost, error) {
	time.Sleep(slowness)
	return s.fakeEnv.Restart(ctx, node)
}

func (s slow) FlushScripts(ctx context.Context, node string) (int, error) {
	time.Sleep(slowness)
	return s.fakeEnv.FlushScripts(ctx, node)
}

func (s slow) PauseClient(client int) (testbed.Undo, error) {
	time.Sleep(slowness)
	return s.fakeEnv.PauseClient(client)
}

func (s slow) Pause(ctx context.Context, node string) (testbed.Undo, error) {
	undo, err := s.fakeEnv.Pause(ctx, node)
	return func(ctx context.Context) (int, error) {
		time.Sleep(slowness)
		return undo(ctx)
	}, err
}

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
			ops := slowBubble(t, Plan{a}, func(ctx context.Context, e *fakeEnv, _ context.CancelFunc) {
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

// slowBubble does what bubble does, in a slow world.
func slowBubble(t *testing.T, p Plan, body func(context.Context, *fakeEnv, context.CancelFunc)) []history.Op {
	t.Helper()
	return bubbleIn(t, p, func(e *fakeEnv) testbed.Env { return slow{e} }, body, nil)
}

// sealing is a world in which a link is cut slowly, and the history ends during the cut.
type sealing struct {
	*fakeEnv
	rec *history.Recorder
}

func (s sealing) Cut(ctx context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	time.Sleep(slowness)
	if err := s.rec.End(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall}, s.Now()); err != nil && !errors.Is(err, history.ErrSealed) {
		return nil, err
	}
	return s.fakeEnv.Cut(ctx, l, d)
}

func TestAFaultIsHealedWhenItsStallCannotBeRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEnv(t, 1, "n0")
		rec := history.NewRecorder(nil, e.Now)
		p := Plan{{
			ID: 1, Fault: "partition", Idea: "slowly cut off", Client: history.NoClient, Nodes: []string{"n0"}, Direction: testbed.Both,
			Point: &Trigger{Clients: []int{0}, Step: testbed.StepHold}, By: time.Second, For: time.Second,
		}}
		go func() {
			time.Sleep(time.Second / 2)
			_ = e.clients[0].Step(t.Context(), testbed.StepHold)
		}()
		if err := Run(t.Context(), p, sealing{e, rec}, rec); !errors.Is(err, history.ErrSealed) {
			t.Errorf("Run = %v, want %v", err, history.ErrSealed)
		}
		e.clean(t)
	})
}
