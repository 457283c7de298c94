package trial

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// recorder returns a recorder whose clock starts now. In a synctest bubble, its time is virtual.
func recorder() *history.Recorder {
	start := time.Now()
	return history.NewRecorder(nil, func() time.Duration { return time.Since(start) })
}

func soundSpec() Spec {
	return Spec{
		Lock: trialtest.Sound, Workload: "mutex", Fault: undisturbed, Testbed: "fake", Topology: testbed.Single,
		Options: workloads.Options{
			Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
			Retry: 25 * time.Millisecond, Duration: 2 * time.Second, Margin: 500 * time.Millisecond, Seed: 7,
		},
	}
}

func TestTrialHealsThenLetsEveryClientInThenLooksAtTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var streamed int
		e, err := Run(t.Context(), &trialtest.Bed{}, soundSpec(), recorder(), func(history.Command) { streamed++ })
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
		if streamed == 0 || len(e.Commands) != streamed || e.Claims.Lock != trialtest.Sound || e.Claims.TTL != time.Second {
			t.Errorf("streamed %d commands, got %d and claims %+v", streamed, len(e.Commands), e.Claims)
		}
	})
}

func TestInRealTimeFaultsBeginWhenEveryClientHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := locks.ByID(trialtest.Sound)
		of := r.New
		r.ID = "test-starts-late"
		r.New = func(c *locks.Client) (locks.Maker, error) {
			time.Sleep(time.Second)
			return of(c)
		}
		locks.Register(r)
		defer locks.Unregister(r.ID)
		s := soundSpec()
		s.Lock = r.ID
		e, err := Run(t.Context(), &trialtest.Bed{Real: true}, s, recorder(), nil)
		if err != nil {
			t.Fatal(err)
		}
		healed := slices.IndexFunc(e.Ops, func(op history.Op) bool { return op.F == history.FHealed })
		if got, want := e.Ops[healed].Time, 3*time.Second+s.Options.Duration; got != want {
			t.Errorf("three clients that start in a second each: the faults' time ended at %v, want %v", got, want)
		}
	})
}

func TestTrialBeyondTheUsersTimeLimitIsNoFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := soundSpec()
		s.Timeout = time.Second
		_, broken, err := run(t.Context(), &trialtest.Bed{}, s, recorder(), receivers{})
		if broken != nil || !errors.Is(err, errTimeLimit) {
			t.Errorf("got %v, %v; want %v alone", broken, err, errTimeLimit)
		}
	})
}

func TestTrialBeyondItsTimeLimitOnRealTimeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := soundSpec()
		s.Timeout = time.Second
		e, err := Run(t.Context(), &trialtest.Bed{Real: true}, s, recorder(), nil)
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
		s.Lock = trialtest.Panicky
		e, broken, err := run(t.Context(), &trialtest.Bed{}, s, recorder(), receivers{})
		if err != nil || broken == nil || broken.Stack == "" {
			t.Fatalf("got %v, %v; want a breakdown", broken, err)
		}
		if last := e.Ops[len(e.Ops)-1]; last.F != history.FPanic || last.Error != broken.Detail || !strings.Contains(last.Error, "panicked: boom") {
			t.Errorf("last entry is %+v", last)
		}
	})
}

// ending is a fake testbed whose Run passes its error to the function end, and returns the error
// that end returns.
type ending struct {
	*trialtest.Bed
	end func(error) error
}

func (b ending) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	return b.end(b.Bed.Run(ctx, s, body))
}

var errLeft = errors.New("n0 may be left with keys")

// untidy adds the error of a testbed that cannot be torn down.
func untidy(err error) error { return errors.Join(err, &testbed.TeardownError{Err: errLeft}) }

func TestWhatCannotBeTornDownIsToldWhateverTheTrialCameTo(t *testing.T) {
	ranAway := func(error) error { return untidy(&testbed.Breakdown{Kind: history.FRunaway}) }
	for name, test := range map[string]struct {
		change func(*Spec)
		end    func(error) error
		broken string // how the code under test ended the trial; "" = it did not
		also   error  // another error that is expected; nil = none
	}{
		"the trial is good":        {func(*Spec) {}, untidy, "", nil},
		"the trial takes too long": {func(s *Spec) { s.Timeout = time.Second }, untidy, "", errTimeLimit},
		"the recipe panics":        {func(s *Spec) { s.Lock = trialtest.Panicky }, untidy, history.FPanic, nil},
		"the recipe runs away":     {func(*Spec) {}, ranAway, history.FRunaway, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := soundSpec()
				test.change(&s)
				e, broken, err := run(t.Context(), ending{&trialtest.Bed{}, test.end}, s, recorder(), receivers{})
				if !errors.Is(err, errLeft) || test.also != nil && !errors.Is(err, test.also) {
					t.Fatalf("got %v, want %v and %v", err, errLeft, test.also)
				}
				if test.broken == "" {
					if broken != nil {
						t.Errorf("got %v, want no breakdown", broken)
					}
					return
				}
				if last := e.Ops[len(e.Ops)-1]; broken == nil || broken.Kind != test.broken || last.F != test.broken {
					t.Errorf("got %v, and at last %+v, want a %s", broken, last, test.broken)
				}
				if want := "tear down: " + errLeft.Error(); err.Error() != want {
					t.Errorf("got %q, want %q: the breakdown is in the evidence", err, want)
				}
			})
		})
	}
}

func TestWhatIsLeftBehindDoesNotUndoABreakdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := soundSpec()
		s.Lock = trialtest.Panicky
		d, err := Execute(t.Context(), ending{&trialtest.Bed{}, untidy}, Task{Spec: s, Folder: t.TempDir(), Drop: true}, new(sync.Mutex), nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := "tear down: " + errLeft.Error(); d.Trial.Outcome != Violated || d.Trial.Err != want {
			t.Errorf("got %s and %q, want %s and %q", d.Trial.Outcome, d.Trial.Err, Violated, want)
		}
	})
}

func TestTrialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := Run(ctx, &trialtest.Bed{}, soundSpec(), recorder(), nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTimeLimit) {
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
		if _, err := Run(t.Context(), &trialtest.Bed{}, s, recorder(), nil); err == nil || err.Error() != name {
			t.Errorf("got %v, want %s", err, name)
		}
	}
}

func TestHeartbeatRecordsOnlyNewMaximaOfItsLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// A clock that sometimes jumps simulates a machine that did not schedule this process.
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
		now.Add(int64(90 * time.Millisecond)) // a last stall, just before the end
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
