package workloads

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

func count(ops []history.Op, match func(history.Op) bool) (n int) {
	for _, op := range ops {
		if match(op) {
			n++
		}
	}
	return n
}

func is(f string, typ history.Type) func(history.Op) bool {
	return func(op history.Op) bool { return op.F == f && op.Type == typ }
}

func TestAGoodLockLosesNoUpdate(t *testing.T) {
	for _, name := range []string{"mutex", "reentrant"} {
		t.Run(name, func(t *testing.T) {
			ops := played(t, name, &fakeEnv{}, options, nil)
			var last int64
			for _, op := range ops {
				if op.F == history.FWrite && op.Type == history.OK {
					if op.Value[0] != last+1 {
						t.Fatalf("entry %d writes %d after %d", op.Index, op.Value[0], last)
					}
					last = op.Value[0]
				}
			}
			if last < 10 {
				t.Errorf("only %d critical sections in %v", last, options.Duration)
			}
		})
	}
}

// Before a client waits, it makes a single attempt, unless the lock has no single attempts.
func TestALockWithoutSingleAttemptsIsNotTriedFirst(t *testing.T) {
	for _, waits := range []bool{true, false} {
		ops := played(t, "mutex", &fakeEnv{waits: waits}, options, func(l *memoryLock) { l.waiting = true })
		busy, granted := count(ops, is(history.FAcquire, history.Fail)), count(ops, is(history.FAcquire, history.OK))
		if waits != (busy == 0) || granted < 10 {
			t.Errorf("waits %v: %d attempts were refused, %d granted", waits, busy, granted)
		}
	}
}

func TestReadersShareAndSeeEqualPairs(t *testing.T) {
	ops := played(t, "read-write", &fakeEnv{}, options, nil)
	reading := map[int]bool{}
	shared, writes := false, 0
	for _, op := range ops {
		switch {
		case op.F == history.FAcquire && op.Type == history.OK && op.Mode == history.Read:
			reading[op.Client] = true
			shared = shared || len(reading) > 1
		case op.F == history.FRelease && op.Type == history.Invoke:
			delete(reading, op.Client)
		case op.F == history.FRead && op.Type == history.OK && op.Mode == history.Read && op.Value[0] != op.Value[1]:
			t.Fatalf("entry %d: a reader saw %v", op.Index, op.Value)
		case op.F == history.FWrite && op.Type == history.OK:
			writes++
		}
	}
	if !shared || writes == 0 {
		t.Errorf("readers shared the lock: %v, writes: %d; the workload needs both", shared, writes)
	}
}

func TestEveryLivingClientGetsInOnceAfterHealing(t *testing.T) {
	for _, keys := range []int{1, 3} {
		opts := options
		opts.Keys = keys
		ops := played(t, "mutex", &fakeEnv{}, opts, nil)
		healed := slices.IndexFunc(ops, is(history.FHealed, history.Info))
		type entry struct {
			client int
			lock   string
		}
		in := map[entry]bool{}
		for _, op := range ops[healed:] {
			if op.F == history.FAcquire && op.Type == history.OK {
				in[entry{op.Client, op.Lock}] = true
			}
		}
		if len(in) != opts.Clients*keys {
			t.Errorf("%d keys: %d of %d entries after healing", keys, len(in), opts.Clients*keys)
		}
	}
}

func TestABlockedLockEndsTheLivenessPhaseAfterItsGrace(t *testing.T) {
	for name, stuck := range map[string]error{"busy": locks.ErrBusy, "unknown": errors.New("i/o timeout")} {
		t.Run(name, func(t *testing.T) {
			ops := played(t, "mutex", &fakeEnv{}, options, func(l *memoryLock) { l.try = func() error { return stuck } })
			if n := count(ops, is(history.FAcquire, history.OK)); n != 0 {
				t.Fatalf("%d acquires succeeded", n)
			}
			last := ops[len(ops)-1].Time
			if want := options.Duration + options.TTL + options.Margin; last < want || last > 3*want {
				t.Errorf("clients gave up at %v, want after %v and not much later", last, want)
			}
		})
	}
}

func TestACrashedClientDoesNothingMore(t *testing.T) {
	crashed := false
	e := &fakeEnv{at: func(client int, step string) error {
		if client == 1 && step == "touch" {
			crashed = true
		}
		if client == 1 && crashed {
			return testbed.ErrCrashed
		}
		return nil
	}}
	ops := played(t, "mutex", e, options, nil)
	if n := count(ops, func(op history.Op) bool { return op.Client == 1 && op.F == history.FRelease }); n != 0 {
		t.Errorf("the crashed client released %d times", n)
	}
}

func TestACarefulClientStopsAtItsDeadlineAndATrustingOneDoesNot(t *testing.T) {
	for _, trusting := range []bool{false, true} {
		opts := options
		opts.Trusting, opts.Clients = trusting, 1
		ops := played(t, "mutex", &fakeEnv{}, opts, func(l *memoryLock) {
			l.deadline = func() time.Time { return time.Now().Add(opts.Hold / 2) }
		})
		writes := count(ops, is(history.FWrite, history.OK))
		lost := count(ops, is(history.FLost, history.Info))
		if trusting != (writes > 0) || trusting != (lost == 0) {
			t.Errorf("trusting %v: %d writes, %d lost", trusting, writes, lost)
		}
	}
}

func TestADeadlineIsRecordedOnTheClientsOwnClock(t *testing.T) {
	e := &fakeEnv{skew: time.Minute}
	opts := options
	opts.Clients = 1
	ops := played(t, "mutex", e, opts, func(l *memoryLock) {
		l.deadline = func() time.Time { return time.Now().Add(e.skew + time.Second) }
	})
	for _, op := range ops {
		if op.F == history.FAcquire && op.Type == history.OK {
			if got, want := op.Lease.Deadline, op.Time+e.skew+time.Second; got != want {
				t.Fatalf("deadline %v, want %v", got, want)
			}
		}
	}
}

func TestALostLeaseEndsTheWorkAndIsRecordedOnce(t *testing.T) {
	opts := options
	opts.Clients = 1
	lost := make(chan struct{})
	close(lost)
	ops := played(t, "mutex", &fakeEnv{}, opts, func(l *memoryLock) { l.lost = lost })
	acquired := count(ops, is(history.FAcquire, history.OK))
	if n := count(ops, is(history.FLost, history.Info)); n != acquired {
		t.Errorf("%d lost events for %d holds", n, acquired)
	}
	if n := count(ops, is(history.FWrite, history.OK)); n != 0 {
		t.Errorf("%d writes under a lost lease", n)
	}
	if n := count(ops, is(history.FRelease, history.OK)); n != acquired {
		t.Errorf("%d releases for %d holds: a lost lease is released all the same", n, acquired)
	}
}

func TestAnUnknownOutcomeGoesOnAsANewProcessOfTheSameOwner(t *testing.T) {
	opts := options
	opts.Clients = 2
	ops := played(t, "mutex", &fakeEnv{}, opts, func(l *memoryLock) {
		calls := 0
		l.try = func() error {
			if calls++; calls%2 == 1 {
				return errors.New("i/o timeout")
			}
			return nil
		}
	})
	ended := map[history.Process]bool{}
	for _, op := range ops {
		if op.Process == history.Nemesis {
			continue
		}
		if int(op.Process)%opts.Clients != op.Client {
			t.Fatalf("entry %d: process %d does not belong to client %d", op.Index, op.Process, op.Client)
		}
		if ended[op.Process] {
			t.Fatalf("entry %d: process %d goes on after an unknown outcome", op.Index, op.Process)
		}
		if op.F == history.FAcquire && op.Type == history.Info {
			ended[op.Process] = true
			if op.Lease == nil || op.Lease.Token != "sent" {
				t.Fatalf("entry %d lost the token that was sent", op.Index)
			}
		}
	}
	if len(ended) == 0 {
		t.Fatal("no acquire was unknown")
	}
}

// After a timeout a lock may tell its client that the acquire was refused (locks.ErrPresumed). The
// client goes on as after a refusal, but the history has the error, and info as the outcome.
func TestAnErrorThatALockTakesForARefusalIsOfUnknownOutcome(t *testing.T) {
	timeout := errors.New("i/o timeout")
	for name, failed := range map[string]struct {
		err    error
		how    history.Type
		reason history.Reason
		text   string
	}{
		"refused":  {locks.ErrBusy, history.Fail, history.Busy, ""},
		"presumed": {fmt.Errorf("%w: %w: %w", locks.ErrBusy, locks.ErrPresumed, timeout), history.Info, history.Presumed, "i/o timeout"},
	} {
		opts := options
		opts.Clients, opts.Script = 1, [][]Section{{{Retry: time.Millisecond}}}
		ops := played(t, "mutex", &fakeEnv{}, opts, func(l *memoryLock) {
			calls := 0
			l.try = func() error {
				if calls++; calls == 1 {
					return failed.err
				}
				return nil
			}
		})
		op := ops[1]
		if op.Type != failed.how || op.Reason != failed.reason || op.Error != "" != (failed.text != "") || !strings.HasSuffix(op.Error, failed.text) || op.Lease.Token != "sent" {
			t.Errorf("%s: got %+v, want %s, %q, with the text %q and the token", name, op, failed.how, failed.reason, failed.text)
		}
		if ops[2].F != history.FAcquire || ops[3].Type != history.OK || (ops[2].Process == ops[0].Process) != (failed.how == history.Fail) {
			t.Errorf("%s: then %+v, %+v; want the next attempt, by another process if the outcome is unknown", name, ops[2], ops[3])
		}
		if got, want := ops[2].Time-ops[1].Time, time.Millisecond; got > want {
			t.Errorf("%s: the next attempt came after %v, want the wait for a busy lock, at most %v", name, got, want)
		}
	}
}

func TestReentryRefusedTellsTheHolderThatItLost(t *testing.T) {
	opts := options
	opts.Clients = 1
	ops := played(t, "reentrant", &fakeEnv{}, opts, func(l *memoryLock) {
		calls := 0
		l.try = func() error {
			if calls++; calls%2 == 0 {
				return locks.ErrBusy
			}
			return nil
		}
	})
	if count(ops, is(history.FLost, history.Info)) == 0 {
		t.Error("no lost event after a refused re-entry")
	}
}

func TestAPanicOfARecipeIsABreakdownAndTheHistorysEnd(t *testing.T) {
	ops, err := play(t, "mutex", &fakeEnv{}, options, func(l *memoryLock) { l.try = func() error { panic(&struct{ at int }{7}) } })
	var b *testbed.Breakdown
	if !errors.As(err, &b) || b.Kind != history.FPanic || b.Stack == "" {
		t.Fatalf("got %v, want a breakdown", err)
	}
	if want := "client 0: recipe memory panicked: &{7} (in github.com/lockstorm/lockstorm/workloads."; !strings.HasPrefix(b.Detail, want) {
		t.Errorf("detail %q, want %q…", b.Detail, want)
	}
	if last := ops[len(ops)-1]; last.F != history.FPanic || last.Error != b.Detail || last.Client != 0 {
		t.Errorf("last entry is %+v", last)
	}
}

func TestOverrunHoldsBeyondTheLeaseTime(t *testing.T) {
	opts := options
	opts.Clients, opts.Overrun = 1, 1
	ops := played(t, "mutex", &fakeEnv{}, opts, nil)
	read := slices.IndexFunc(ops, is(history.FRead, history.OK))
	write := slices.IndexFunc(ops, is(history.FWrite, history.OK))
	if read < 0 || write < 0 || ops[write].Time-ops[read].Time < opts.TTL {
		t.Error("no critical section outlasted its lease")
	}
}
