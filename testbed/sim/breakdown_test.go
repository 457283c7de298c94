package sim

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

type body func(context.Context, testbed.Env) error

// pings sends PINGs one after the other, with rest between them, until one fails.
func pings(rest time.Duration) body {
	return func(ctx context.Context, env testbed.Env) error {
		for {
			if err := env.Client(0).Locks().Nodes[0].Ping(ctx).Err(); err != nil {
				return err
			}
			time.Sleep(rest)
		}
	}
}

// lostReply makes a client without timeouts wait for a reply that is lost.
func lostReply(ctx context.Context, env testbed.Env) error {
	undo, err := env.(testbed.Network).Cut(ctx, testbed.Link{From: "c0", To: "n0"}, testbed.Downstream)
	if err != nil {
		return err
	}
	defer undo(ctx)
	return env.Client(0).Locks().Nodes[0].Ping(context.Background()).Err()
}

func TestCodeThatEndsATrialIsAFinding(t *testing.T) {
	for name, c := range map[string]struct {
		limit time.Duration
		body  body
		kind  string // "" = none
		says  string
	}{
		"a panic":                     {body: func(context.Context, testbed.Env) error { panic("boom") }, kind: history.FPanic, says: "boom"},
		"no end in time":              {limit: time.Minute, body: pings(time.Second), kind: history.FRunaway, says: "not over after 1m0s"},
		"a reply that does not come":  {limit: time.Minute, body: lostReply, kind: history.FDeadlock, says: "still waits (in github.com/lockstorm/lockstorm/testbed/sim.lostReply, breakdown_test.go:"},
		"a wait for the end of time":  {limit: time.Minute, body: func(ctx context.Context, _ testbed.Env) error { <-ctx.Done(); return ctx.Err() }, kind: history.FDeadlock, says: "nothing was sent any more"},
		"a wait for nobody":           {body: func(context.Context, testbed.Env) error { select {} }, kind: history.FDeadlock, says: "everything waits, nobody for an instant: what they wait for will never come (in github.com/lockstorm/lockstorm/testbed/sim.TestCodeThatEndsATrialIsAFinding.func"},
		"something that is left over": {body: func(context.Context, testbed.Env) error { go func() { select {} }(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			var details []string
			for range 2 {
				_, err := trial(t, testbed.Setup{Seed: 1, CommandTimeout: -1, Limit: c.limit}, c.body)
				var broken *testbed.Breakdown
				if errors.As(err, &broken) != (c.kind != "") || c.kind == "" && err != nil {
					t.Fatalf("got %v, want %q", err, c.kind)
				}
				if c.kind == "" {
					return
				}
				if broken.Kind != c.kind || !strings.Contains(broken.Detail, c.says) || strings.Contains(broken.Detail, "\n") {
					t.Errorf("got %v, want %s: %s", broken, c.kind, c.says)
				}
				details = append(details, broken.Detail)
			}
			if details[0] != details[1] {
				t.Errorf("the same trial twice: got %q and %q", details[0], details[1])
			}
		})
	}
}

func TestMoreThanATrialMayCostAccusesNobody(t *testing.T) {
	_, err := trial(t, testbed.Setup{Seed: 1}, func(ctx context.Context, env testbed.Env) error {
		env.(*simulation).budget = 1000
		return pings(0)(ctx, env)
	})
	var broken *testbed.Breakdown
	if err == nil || errors.As(err, &broken) || !strings.Contains(err.Error(), "after 1000 events") {
		t.Errorf("got %v, want an error that tells of 1000 events and is no finding", err)
	}
}

func TestATestbedGoesOnAfterABreakdown(t *testing.T) {
	tb := New()
	setup := testbed.Setup{Topology: testbed.Single, Clients: 1, Clock: tb.Clock(), Commands: func(history.Command) {}}
	for _, body := range []body{
		func(context.Context, testbed.Env) error { panic("boom") },
		func(context.Context, testbed.Env) error { select {} },
	} {
		if err := tb.Run(t.Context(), setup, body); err == nil {
			t.Error("got no breakdown")
		}
		err := tb.Run(t.Context(), setup, func(ctx context.Context, env testbed.Env) error {
			return env.Client(0).Locks().Nodes[0].Set(ctx, "k", "v", 0).Err()
		})
		if err != nil {
			t.Errorf("the next trial: %v", err)
		}
	}
}

func TestAnInterruptedTrialEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tb := New()
	setup := testbed.Setup{Topology: testbed.Single, Clients: 1, Clock: tb.Clock(), Commands: func(history.Command) {}}
	err := tb.Run(ctx, setup, func(ctx context.Context, env testbed.Env) error {
		cancel()
		return pings(time.Second)(ctx, env)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// The code of a crashed client may wait until its contexts end, or longer. That must not become
// a finding about the lock.
func TestADeadClientsCodeAccusesNobody(t *testing.T) {
	dies := func(then func(env testbed.Env)) body {
		return func(ctx context.Context, env testbed.Env) error {
			env.Client(0).Open(7)
			if err := env.(testbed.Clients).CrashClient(0); err != nil {
				return err
			}
			then(env)
			return nil
		}
	}
	for name, c := range map[string]struct {
		body body
		says string // a part of the error; "" = the trial ends without an error
	}{
		"for the end of its context": {dies(func(env testbed.Env) { <-env.Client(0).Locks().Context.Done() }), ""},
		"for ever":                   {dies(func(testbed.Env) { select {} }), "the code of a crashed client goes on"},
		"beside one that lives": {dies(func(env testbed.Env) {
			env.Client(1).Open(8)
			<-env.Client(0).Locks().Context.Done()
		}), string(history.FDeadlock)},
	} {
		_, err := trial(t, testbed.Setup{Seed: 1, Clients: 2, CommandTimeout: -1, Limit: time.Minute}, c.body)
		var broken *testbed.Breakdown
		accused := errors.As(err, &broken)
		if accused != (c.says == history.FDeadlock) || (err == nil) != (c.says == "") || !accused && err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, err, c.says)
		}
	}
}
