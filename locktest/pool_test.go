package locktest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

type fakePool struct {
	worker.Pool
	run func(trial.Task) trial.Done
}

func (p fakePool) Run(_ context.Context, t trial.Task, _ func(history.Command)) (trial.Done, error) {
	return p.run(t), nil
}

// Run reports a slow trial once, before the trial is over.
func TestALongTrialIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"short": {time.Second, ""},
		"long":  {time.Minute, "locktest: TestLock: a trial under delay (mutex/3) has been running for 15s and goes on; a trial that does not end is stopped after a minute of processor time\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			p := &reportingPool{test: "TestLock", out: &out, slowAfter: slowAfter, Pool: fakePool{run: func(trial.Task) trial.Done {
				time.Sleep(test.takes)
				return trial.Done{}
			}}}
			for range 2 {
				if _, err := p.Run(t.Context(), trial.Task{Spec: trial.Spec{Fault: "delay", Workload: "mutex", Trial: 3}}, nil); err != nil {
					t.Error(err)
				}
			}
			synctest.Wait() // for the function that the timer called
			if got := out.String(); got != test.want {
				t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		})
	}
}

func TestWhatTheRaceDetectorReportedIsInTheError(t *testing.T) {
	p := &reportingPool{Pool: fakePool{run: func(trial.Task) trial.Done {
		return trial.Done{Trial: trial.Result{Err: "a race"}, RaceReport: "WARNING: DATA RACE\n"}
	}}}
	if d, err := p.Run(t.Context(), trial.Task{}, nil); err != nil || d.Trial.Err != "a race\nWARNING: DATA RACE\n" {
		t.Errorf("got %q, %v", d.Trial.Err, err)
	}
}

// If the lock never returns even without a fault, the test runs no other trial: each would take
// just as long.
func TestALockThatNeverReturnsEndsTheTest(t *testing.T) {
	const says = "the trial did not come to an end within 1m0s of processor time: paylock.(*Lock).Release does not return"
	l := lock{name: "TestLock", make: func(*Client) (Acquire, error) { return nil, nil }}
	var err error
	if l.Options, err = l.filled(); err != nil {
		t.Fatal(err)
	}
	defer l.register()()
	runs := 0
	s, err := newSession(l, closedPool{fakePool{run: func(task trial.Task) trial.Done {
		runs++
		var lines bytes.Buffer
		rec := history.NewRecorder(&lines, func() time.Duration { return time.Second })
		if err := rec.End(history.Op{F: history.FRunaway, Error: says}, 0); err != nil {
			t.Error(err)
		}
		if err := errors.Join(os.MkdirAll(task.Folder, 0o777), os.WriteFile(filepath.Join(task.Folder, trial.HistoryFile), lines.Bytes(), 0o600)); err != nil {
			t.Error(err)
		}
		return trial.Done{Died: true, Trial: trial.Result{Outcome: trial.Violated, Flaws: []trial.Flaw{{Oracle: "conduct", Cause: "runaway"}}}}
	}}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.open(t.Context()); err == nil || !strings.Contains(err.Error(), "locktest: without any fault, "+says) || runs != 1 {
		t.Errorf("got %v after %d trials, want %q after one", err, runs, says)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

type closedPool struct{ fakePool }

func (closedPool) Close() {}
