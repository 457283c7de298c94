package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// windows maps the ID of each window to the entry that closes the window.
func windows(ops []history.Op) map[int]history.Op {
	all := map[int]history.Op{}
	for _, op := range ops {
		if op.Window != nil && op.Type == history.Info {
			all[op.Window.ID] = op
		}
	}
	return all
}

// bubble plays the plan concurrently with body. It checks that Run returns no error, and returns the
// history.
func bubble(t *testing.T, p Plan, body func(context.Context, *fakeEnv)) []history.Op {
	t.Helper()
	ops, err := play(t, p, nil, func(ctx context.Context, e *fakeEnv) { go body(ctx, e) })
	if err != nil {
		t.Errorf("Run = %v", err)
	}
	return ops
}

func both(step string) *Trigger { return &Trigger{Clients: []int{0, 1}, Step: step} }

func TestTriggerThatNeverComesLeavesAnEmptyWindow(t *testing.T) {
	p := Plan{{ID: 1, Fault: "client-crash", Idea: "never", Point: both(testbed.StepHold), By: time.Second, Client: history.NoClient}}
	ops := bubble(t, p, func(context.Context, *fakeEnv) {})
	w, ok := windows(ops)[1]
	if !ok || w.Window.Hits != 0 || w.Time != time.Second+lastMoment || len(ops) != 2 {
		t.Errorf("history = %+v, want a window without hits that is closed after 1s", ops)
	}
}

func TestFaultIsHealedWhenTheTrialIsGivenUp(t *testing.T) {
	p := Plan{
		{ID: 1, Fault: "client-pause", Idea: "long", Client: 0, By: time.Second, For: time.Hour},
		{ID: 2, Fault: "client-pause", Idea: "later", Client: 1, After: 1, By: time.Hour, For: time.Second},
		{ID: 3, Fault: "client-crash", Idea: "armed", Client: history.NoClient, Arm: both(testbed.StepRest), Point: both(testbed.StepHold), By: time.Hour},
		{ID: 4, Fault: "partition", Idea: "until", Client: 1, Nodes: []string{"n0"}, Direction: testbed.Both, By: time.Hour, Until: both(testbed.StepHold), Limit: time.Hour},
	}
	ops := bubble(t, p, func(_ context.Context, e *fakeEnv) {
		time.Sleep(2 * time.Second)
		e.giveUp()
	})
	closed := windows(ops)
	for id := 1; id <= 4; id++ {
		if w, ok := closed[id]; !ok || w.Time != 2*time.Second {
			t.Errorf("window %d closed: %v, at %v; want at 2s", id, ok, w.Time)
		}
	}
	if w := closed[1].Window; w.Hits != 0 {
		t.Errorf("a pause that was cut short has %d hits, want 0 (%s)", w.Hits, asJSON(w.Impact))
	}
}

func TestCrashIsRecordedBeforeItTakesEffect(t *testing.T) {
	p := Plan{{ID: 1, Fault: "client-crash", Idea: "dies", Point: both(testbed.StepHold), By: time.Second, Client: history.NoClient}}
	var stepped error
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		time.Sleep(100 * time.Millisecond)
		stepped = e.clients[1].Step(ctx, testbed.StepHold)
	})
	if !errors.Is(stepped, testbed.ErrCrashed) {
		t.Errorf("the client's step = %v, want %v", stepped, testbed.ErrCrashed)
	}
	var kinds []string
	for _, op := range ops {
		kinds = append(kinds, op.F+" "+string(op.Type))
		if op.Client != 1 {
			t.Errorf("%s names client %d, want 1", op.F, op.Client)
		}
	}
	if want := []string{"client-crash invoke", "crash info", "client-crash info"}; !slices.Equal(kinds, want) {
		t.Errorf("history = %v, want %v", kinds, want)
	}
}

func TestClientIsHeldAtThePointUntilTheFaultIsInForce(t *testing.T) {
	p := Plan{{
		ID: 1, Fault: "partition", Idea: "cut", Point: both(testbed.StepHold), By: time.Second, For: time.Second,
		Client: history.NoClient, Nodes: []string{"n0"}, Direction: testbed.Upstream,
	}}
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		time.Sleep(100 * time.Millisecond)
		_ = e.clients[0].Step(ctx, testbed.StepHold)
		if !e.done("raise c0-n0 upstream") {
			t.Error("the client went on before its link was cut")
		}
		e.clients[0].set("n0", "k")
	})
	w := windows(ops)[1].Window
	if w.Hits != 1 || w.Target() != "c0→n0" || w.Effect != history.Cut || w.Impact.Messages != 1 {
		t.Errorf("window = %+v, want one message of c0 dropped", w)
	}
}

// began reports whether a moment is the beginning of a client's step.
func began(p *history.Moment, client int, step string) bool {
	return p != nil && p.Client == client && p.Step == step && p.N == 0
}

func TestUntilHoldsItsClientUntilTheFaultIsHealed(t *testing.T) {
	until := both(testbed.StepHold)
	until.Who = Other
	p := Plan{{
		ID: 1, Fault: "client-pause", Idea: "until", Point: both(testbed.StepTouch), By: time.Second,
		Client: history.NoClient, Until: until, Limit: 5 * time.Second,
	}}
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		time.Sleep(100 * time.Millisecond)
		go func() { _ = e.clients[0].Step(ctx, testbed.StepTouch) }()
		time.Sleep(time.Second)
		_ = e.clients[1].Step(ctx, testbed.StepHold)
		if !e.done("lift c0") {
			t.Error("the other client went on before the first was resumed")
		}
	})
	w := windows(ops)[1]
	if w.Time != 1100*time.Millisecond || w.Window.Hits != 1 || !began(w.Window.Impact.Until, 1, testbed.StepHold) {
		t.Errorf("closed at %v with %+v, want at 1.1s, ended by c1", w.Time, w.Window)
	}
}

// A fault with Linger stays in force for the time Linger after a client has reached Until.
// Meanwhile the client that reached Until goes on.
func TestAFaultLingersOnFromUntilWhoseClientGoesOn(t *testing.T) {
	until := both(testbed.StepHold)
	until.Who = Other
	p := Plan{{
		ID: 1, Fault: "client-pause", Idea: "until", Point: both(testbed.StepTouch), By: time.Second,
		Client: history.NoClient, Until: until, Linger: 10 * time.Millisecond, Limit: 5 * time.Second,
	}}
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		time.Sleep(100 * time.Millisecond)
		go func() { _ = e.clients[0].Step(ctx, testbed.StepTouch) }()
		time.Sleep(time.Second)
		_ = e.clients[1].Step(ctx, testbed.StepHold)
		if e.done("lift c0") {
			t.Error("the first client went on before the other did")
		}
	})
	w := windows(ops)[1]
	if w.Time != 1110*time.Millisecond || w.Window.Impact.For != 1010*time.Millisecond || !began(w.Window.Impact.Until, 1, testbed.StepHold) {
		t.Errorf("closed at %v with %+v, want 10ms after c1 got there at 1.1s", w.Time, w.Window.Impact)
	}
}

// The struck client may reach Until immediately, before any other event.
func TestUntilIsAwaitedBeforeTheStruckClientGoesOn(t *testing.T) {
	p := Plan{{
		ID: 1, Fault: "partition", Idea: "at once", Point: both(testbed.StepHold), By: time.Second,
		Client: history.NoClient, Nodes: []string{"n0"}, Direction: testbed.Upstream, Until: both(testbed.StepRead), Limit: 5 * time.Second,
	}}
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		time.Sleep(100 * time.Millisecond)
		_ = e.clients[0].Step(ctx, testbed.StepHold)
		_ = e.clients[0].Step(ctx, testbed.StepRead)
	})
	if w := windows(ops)[1]; w.Time != 100*time.Millisecond || !began(w.Window.Impact.Until, 0, testbed.StepRead) {
		t.Errorf("closed at %v with %+v, want at 100ms, ended by c0", w.Time, w.Window)
	}
}

func TestArmedTriggerWaitsForItsArm(t *testing.T) {
	p := Plan{{
		ID: 1, Fault: "script-flush", Idea: "armed", Arm: both(testbed.StepRest), Point: both(testbed.StepAcquire), By: 2 * time.Second,
		Client: history.NoClient, Nodes: []string{"n0"},
	}}
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		for _, step := range []string{testbed.StepAcquire, testbed.StepRest, testbed.StepHold, testbed.StepAcquire} {
			time.Sleep(100 * time.Millisecond)
			_ = e.clients[0].Step(ctx, step)
		}
	})
	if w := windows(ops)[1]; w.Time != 400*time.Millisecond || w.Window.Hits != 1 {
		t.Errorf("flushed at %v with %d hits, want at 400ms with 1", w.Time, w.Window.Hits)
	}
}

func TestSkewIsInTheHistoryForAsLongAsItLasts(t *testing.T) {
	p := Plan{{ID: 1, Fault: "client-skew", Idea: "ahead", Client: 1, Offset: time.Minute, For: time.Second, By: time.Second}}
	ops := bubble(t, p, func(ctx context.Context, e *fakeEnv) {
		for range 3 {
			time.Sleep(300 * time.Millisecond)
			_ = e.clients[1].Step(ctx, testbed.StepAcquire)
			if got := time.Until(e.clients[1].locks.Now()); got != time.Minute {
				t.Errorf("the client's clock is ahead by %v, want 1m", got)
			}
		}
	})
	var clocks []time.Duration
	for _, op := range ops {
		if op.F == history.FClock {
			clocks = append(clocks, op.Time, op.Offset)
		}
	}
	if want := []time.Duration{0, time.Minute, time.Second, 0}; !slices.Equal(clocks, want) {
		t.Errorf("clock events (time, offset) = %v, want %v", clocks, want)
	}
	if w := windows(ops)[1].Window; w.Hits != 3 {
		t.Errorf("hits = %d, want the 3 attempts (%s)", w.Hits, asJSON(w.Impact))
	}
}

func TestKeysThatAQuorumStillHasAreNotAtStakeInARestart(t *testing.T) {
	tests := []struct {
		name    string
		holders []string
		want    int
	}{
		{"nobody holds it", nil, 0},
		{"all hold it", fiveNodes, 0},
		{"exactly a quorum holds it", fiveNodes[:3], 1},
		{"a minority holds it", fiveNodes[:2], 1},
		{"others hold it", fiveNodes[1:4], 0},
	}
	for _, test := range tests {
		p := Plan{{ID: 1, Fault: "node-restart", Idea: "restart", Client: history.NoClient, Nodes: []string{"n0"}, Quorum: 3, By: time.Second}}
		ops, err := play(t, p, fiveNodes, func(_ context.Context, e *fakeEnv) {
			for _, n := range test.holders {
				e.nodes[n].keys["k"] = fakeKey{value: "t"}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if w := windows(ops)[1].Window; w.Hits != test.want {
			t.Errorf("%s: hits = %d, want %d (%s)", test.name, w.Hits, test.want, asJSON(w.Impact))
		}
		if got, want := story(ops), []string{"open n0", "node-down n0", "node-up n0", fmt.Sprintf("close %d", test.want)}; !slices.Equal(got, want) {
			t.Errorf("%s: history %q, want %q", test.name, got, want)
		}
	}
}

var errLame = errors.New("no such process")

// lame lets a fault fail, and slow lets it take the time slowness.
func lame(context.Context) error { return errLame }

func slow(context.Context) error {
	time.Sleep(slowness)
	return nil
}

const slowness = 300 * time.Millisecond

// bare is a world without capabilities.
type bare struct{ testbed.Env }

func TestRunSaysWhatIsWrong(t *testing.T) {
	pause := Action{ID: 1, Fault: "node-pause", Idea: "pause", Client: history.NoClient, Nodes: []string{"n0"}, By: time.Second, For: time.Second}
	twice, orphan, odd := pause, pause, pause
	orphan.After = 7
	odd.Fault = "earthquake"
	later := Action{ID: 2, Fault: "client-pause", Idea: "later", Client: 0, At: time.Minute, By: time.Hour, For: time.Second}
	tests := []struct {
		name    string
		plan    Plan
		prepare func(context.Context, *fakeEnv)
		want    error // nil = any error
		windows int
	}{
		{"a capability is missing", Plan{pause}, func(_ context.Context, e *fakeEnv) { e.world = bare{e} }, ErrNotSupported, 0},
		{"the testbed fails, which ends the rest", Plan{pause, later}, func(_ context.Context, e *fakeEnv) {
			e.meddle = meddling{"raise n0": lame}
		}, errLame, 2},
		{"two actions of one number", Plan{pause, twice}, nil, nil, 0},
		{"an action that waits for none", Plan{orphan}, nil, nil, 0},
		{"an unknown fault", Plan{odd}, nil, nil, 0},
	}
	for _, test := range tests {
		ops, err := play(t, test.plan, nil, test.prepare)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: Run = %v, want %v", test.name, err, test.want)
		}
		if got := len(windows(ops)); got != test.windows || got > 0 && ops[len(ops)-1].Time > time.Second {
			t.Errorf("%s: %d windows in %v, want %d at once", test.name, got, ops, test.windows)
		}
	}
}
