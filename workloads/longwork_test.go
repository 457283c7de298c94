package workloads

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// slowOnce returns a fakeEnv.work that prolongs client 0's work by d in the given calls, counted from
// 1.
func slowOnce(d time.Duration, calls ...int) func(int) (<-chan struct{}, error) {
	n := 0
	return func(client int) (<-chan struct{}, error) {
		if client != 0 {
			return nil, nil
		}
		if n++; !slices.Contains(calls, n) {
			return nil, nil
		}
		done := make(chan struct{})
		time.AfterFunc(d, func() { close(done) })
		return done, nil
	}
}

// Each step of a section (hold, read and touch) has one place at which a fault may prolong its
// work.
func TestLongWorkIsDoneWhereItsStepHasIt(t *testing.T) {
	const long = 300 * time.Millisecond
	for call, want := range map[int]string{1: "acquire read", 2: "read write", 3: "read write"} {
		opts := options
		opts.Clients = 1
		ops := played(t, "mutex", &fakeEnv{work: slowOnce(long, call)}, opts, nil)
		var done []history.Op
		for _, op := range ops {
			if op.Type == history.OK {
				done = append(done, op)
			}
		}
		got := ""
		for i := 1; i < len(done); i++ {
			if done[i].Time-done[i-1].Time >= long {
				got += done[i-1].F + " " + done[i].F
			}
		}
		if got != want {
			t.Errorf("call %d is between %q, want %q", call, got, want)
		}
	}
}

func TestACarefulClientStopsSlowWorkWhenItsLeaseIsLost(t *testing.T) {
	for call, want := range map[int]struct{ reads, writes int }{1: {0, 0}, 2: {1, 0}, 3: {1, 1}} {
		opts := options
		opts.Clients, opts.Script = 1, [][]Section{{{Retry: time.Millisecond}}}
		ops := played(t, "mutex", &fakeEnv{work: slowOnce(time.Minute, call)}, opts, losing(time.Second))
		released := slices.IndexFunc(ops, func(op history.Op) bool { return op.F == history.FRelease })
		reads := count(ops[:released], is(history.FRead, history.OK))
		writes := count(ops[:released], is(history.FWrite, history.OK))
		told := count(ops[:released], is(history.FLost, history.Info))
		stops := ops[released].Time < time.Minute
		if reads != want.reads || writes != want.writes || told != 1 || stops != (writes == 0) {
			t.Errorf("call %d: %d reads, %d writes, lost %d times, released at %v; want %d and %d, once",
				call, reads, writes, told, ops[released].Time, want.reads, want.writes)
		}
	}
}

// losing returns an adapt for play: each client's lock reports after the given time that the lease is
// lost.
func losing(after time.Duration) func(*memoryLock) {
	return func(l *memoryLock) {
		lost := make(chan struct{})
		time.AfterFunc(after, func() { close(lost) })
		l.lost = lost
	}
}

func TestAHungClientReleasesNothingAndLearnsThatItsLeaseIsLost(t *testing.T) {
	e := &fakeEnv{work: hangsFirst}
	opts := options
	opts.Clients = 2
	ops := played(t, "mutex", e, opts, losing(opts.Duration/2))
	mine := func(f string) int {
		return count(ops, func(op history.Op) bool { return op.Client == 0 && op.F == f && op.Type != history.Invoke })
	}
	acquired, lost := count(ops, func(op history.Op) bool { return op.Client == 0 && op.F == history.FAcquire && op.Type == history.OK }), mine(history.FLost)
	if acquired != 1 || mine(history.FRelease) != 0 || mine(history.FRead) != 0 || lost != 1 {
		t.Errorf("acquired %d times, released %d, read %d, lost %d; want 1, 0, 0, 1",
			acquired, mine(history.FRelease), mine(history.FRead), lost)
	}
	if n := count(ops, func(op history.Op) bool { return op.Client == 1 && op.F == history.FAcquire }); n == 0 {
		t.Error("the other client did nothing")
	}
}

// A client that hangs under two locks learns of the loss of either lock, and the history names the
// lock.
func TestAClientThatHangsUnderTwoLocksLearnsOfTheLossOfEach(t *testing.T) {
	for _, c := range []struct {
		workload string
		lost     []string
	}{
		{"two-locks", []string{"lock-0"}}, {"two-locks", []string{"lock-1"}},
		{"two-locks", []string{"lock-0", "lock-1"}}, {"transfer", []string{"lock-0", "lock-1"}},
	} {
		calls := 0
		e := &fakeEnv{work: func(client int) (<-chan struct{}, error) {
			if client != 0 {
				return nil, nil
			}
			if calls++; calls == 2 { // the first work under both locks
				return nil, testbed.ErrHung
			}
			return nil, nil
		}}
		opts := options
		opts.Clients, opts.Keys = 2, 2
		ops := played(t, c.workload, e, opts, func(l *memoryLock) {
			if l.client == 0 && slices.Contains(c.lost, l.key) {
				losing(opts.Duration / 2)(l)
			}
		})
		var held, lost []string
		for _, op := range ops {
			switch {
			case op.Client != 0:
			case op.F == history.FAcquire && op.Type == history.OK:
				held = append(held, op.Lock)
			case op.F == history.FLost && op.Lease != nil && op.Process == 0:
				lost = append(lost, op.Lock)
			}
		}
		if !slices.Equal(held, []string{"lock-0", "lock-1"}) || !slices.Equal(lost, c.lost) {
			t.Errorf("%s: c0 hung under %q and learned of the loss of %q, want of %q", c.workload, held, lost, c.lost)
		}
	}
}
