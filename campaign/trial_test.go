package campaign

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// recorder counts from now on the bubble's clock.
func recorder() *history.Recorder {
	start := time.Now()
	return history.NewRecorder(nil, func() time.Duration { return time.Since(start) })
}

func soundSpec() Spec {
	return Spec{
		Lock: soundLock, Workload: "mutex", Fault: undisturbed, Testbed: "fake", Topology: testbed.Single,
		Options: workloads.Options{
			Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
			Retry: 25 * time.Millisecond, Duration: 2 * time.Second, Margin: 500 * time.Millisecond, Seed: 7,
		},
	}
}

func TestTrialHealsThenLetsEveryClientInThenLooksAtTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streamed int
		e, err := RunTrial(t.Context(), &fakeBed{}, soundSpec(), recorder(), func(history.Command) { streamed++ })
		if err != nil {
			t.Fatal(err)
		}
		healed, entered := time.Duration(-1), map[int]bool{}
		for _, op := range e.Ops {
			switch {
			case op.F == history.FHealed:
				healed = op.Time
			case op.F == history.FAcquire && op.Type == history.OK && healed >= 0:
				entered[op.Client] = true
			}
		}
		last := e.Ops[len(e.Ops)-1]
		if healed != 2*time.Second || len(entered) != 3 {
			t.Errorf("healed at %v, then %d clients got in; want 2s and 3", healed, len(entered))
		}
		if last.F != history.FKeys || last.Node != "n0" || len(last.Keys) != 1 || last.Keys[0].Key != "left" {
			t.Errorf("last entry is %+v, want the post-mortem of n0", last)
		}
		if streamed == 0 || len(e.Commands) != streamed || e.Claims.Lock != soundLock || e.Claims.TTL != time.Second {
			t.Errorf("streamed %d commands, got %d and claims %+v", streamed, len(e.Commands), e.Claims)
		}
	})
}

func TestTrialBeyondTheUsersTimeLimitIsNoFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := soundSpec()
		s.Timeout = time.Second
		_, broken, err := runTrial(t.Context(), &fakeBed{}, s, recorder(), nil)
		if broken != nil || !errors.Is(err, errTimeLimit) {
			t.Errorf("got %v, %v; want %v alone", broken, err, errTimeLimit)
		}
	})
}

func TestTrialBeyondItsTimeLimitOnRealTimeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := soundSpec()
		s.Timeout = time.Second
		e, err := RunTrial(t.Context(), &fakeBed{real: true}, s, recorder(), nil)
		if err == nil || !strings.Contains(err.Error(), "trial exceeded its time limit of 1s") {
			t.Errorf("got %v, want the time limit", err)
		}
		if len(e.Ops) == 0 {
			t.Error("the history so far is gone")
		}
	})
}

func TestAPanicOfTheRecipeIsAVerdictNotAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := soundSpec()
		s.Lock = panickyLock
		e, broken, err := runTrial(t.Context(), &fakeBed{}, s, recorder(), nil)
		if err != nil || broken == nil || broken.Stack == "" {
			t.Fatalf("got %v, %v; want a breakdown", broken, err)
		}
		if last := e.Ops[len(e.Ops)-1]; last.F != history.FPanic || last.Error != broken.Detail || !strings.Contains(last.Error, "panicked: boom") {
			t.Errorf("last entry is %+v", last)
		}
	})
}

func TestTrialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := RunTrial(ctx, &fakeBed{}, soundSpec(), recorder(), nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTimeLimit) {
			t.Errorf("got %v, want the context's own error", err)
		}
	})
}

func TestTrialOfNothingKnownIsRefused(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		`unknown lock "x"`:     func(s *Spec) { s.Lock = "x" },
		`unknown workload "x"`: func(s *Spec) { s.Workload = "x" },
	} {
		s := soundSpec()
		change(&s)
		if _, err := RunTrial(t.Context(), &fakeBed{}, s, recorder(), nil); err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestHeartbeatRecordsOnlyNewMaximaOfItsLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A clock that sometimes jumps stands for a machine that did not run us.
		jumps := map[int]time.Duration{2: 40 * time.Millisecond, 4: 20 * time.Millisecond, 6: 60 * time.Millisecond, 8: 3 * time.Millisecond}
		var now atomic.Int64
		rec := history.NewRecorder(nil, func() time.Duration { return time.Duration(now.Load()) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- heartbeat(ctx, rec) }()
		synctest.Wait()
		for beat := range 10 {
			now.Add(int64(heartbeatEvery + jumps[beat]))
			time.Sleep(heartbeatEvery)
			synctest.Wait()
		}
		now.Add(int64(90 * time.Millisecond)) // until the very end
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		for _, op := range rec.Ops() {
			got = append(got, op.Offset)
		}
		if len(got) != 3 || got[0] != 40*time.Millisecond || got[1] != 60*time.Millisecond || got[2] != 85*time.Millisecond {
			t.Errorf("stalls %v, want [40ms 60ms 85ms]", got)
		}
	})
}
