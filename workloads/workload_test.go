package workloads

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// world is an Env without Redis: its locks live in memory, its clock is the
// bubble's, and at, if set, is called at each step.
type world struct {
	start time.Time
	skew  time.Duration
	at    func(client int, step string) error
}

func (w *world) Now() time.Duration                         { return time.Since(w.start) }
func (w *world) At(testbed.Point, func(testbed.Hit)) func() { return func() {} }
func (w *world) Client(i int) testbed.Client                { return &client{w, i} }
func (c *client) Open(int)                                  {}
func (c *client) Locks() *locks.Client                      { return &locks.Client{Now: c.now} }
func (c *client) now() time.Time                            { return time.Now().Add(c.w.skew) }
func (c *client) Step(ctx context.Context, name string) (err error) {
	if c.w.at != nil {
		err = c.w.at(c.i, name)
	}
	return errors.Join(err, ctx.Err())
}

type client struct {
	w *world
	i int
}

// server is the truth behind all memoryLocks of a trial: who holds what.
type server struct {
	mu      sync.Mutex
	owner   map[string]int // lock → client + 1; 0 = free
	count   map[string]int
	readers map[string]int
}

type memoryLock struct {
	s        *server
	client   int
	key      string
	mode     history.Mode
	deadline func() time.Time
	lost     chan struct{}
	unlock   func() error // instead of a plain release
	try      func() error // before anything else
}

func (l *memoryLock) Read() locks.Lock  { r := *l; r.mode = history.Read; return &r }
func (l *memoryLock) Write() locks.Lock { w := *l; w.mode = history.Write; return &w }

func (l *memoryLock) TryLock(context.Context) (locks.Lease, error) {
	time.Sleep(time.Millisecond)
	if l.try != nil {
		if err := l.try(); err != nil {
			return locks.Lease{Token: "sent"}, err
		}
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	own := l.s.owner[l.key]
	lease := locks.Lease{Token: "t", LostC: l.lost}
	if l.deadline != nil {
		lease.Deadline = l.deadline()
	}
	switch {
	case l.mode == history.Read && own == 0:
		l.s.readers[l.key]++
	case l.mode != history.Read && (own == 0 || own == l.client+1) && l.s.readers[l.key] == 0:
		l.s.owner[l.key] = l.client + 1
		l.s.count[l.key]++
	default:
		return locks.Lease{}, locks.ErrBusy
	}
	return lease, nil
}

func (l *memoryLock) Unlock(context.Context, locks.Lease) error {
	time.Sleep(time.Millisecond)
	if l.unlock != nil {
		return l.unlock()
	}
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.mode == history.Read {
		l.s.readers[l.key]--
		return nil
	}
	if l.s.count[l.key]--; l.s.count[l.key] == 0 {
		l.s.owner[l.key] = 0
	}
	return nil
}

var options = Options{
	Clients: 3, Keys: 1, TTL: time.Second, Hold: 100 * time.Millisecond, Rest: 50 * time.Millisecond,
	Retry: 50 * time.Millisecond, Duration: 3 * time.Second, Margin: 500 * time.Millisecond, Seed: 7,
}

// play runs a workload in virtual time and returns its history.
func play(t *testing.T, name string, w *world, opts Options, adapt func(*memoryLock)) (ops []history.Op, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w.start = time.Now()
		rec := history.NewRecorder(nil, w.Now)
		s := &server{owner: map[string]int{}, count: map[string]int{}, readers: map[string]int{}}
		healed := make(chan struct{})
		time.AfterFunc(opts.Duration, func() {
			if _, err := rec.Event(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FHealed}); err != nil {
				t.Error(err)
			}
			close(healed)
		})
		load, ok := ByName(name)
		if !ok {
			t.Fatalf("no workload %q", name)
		}
		err = load.Body(t.Context(), World{
			Env: w, Opts: opts, Rec: rec, Healed: healed,
			Claims: history.Claims{Lock: "memory", TTL: opts.TTL, KeyTTL: opts.TTL, Recovery: opts.TTL},
			Make: func(client int) (locks.Maker, error) {
				return func(key string, _ time.Duration) (locks.Lock, error) {
					l := &memoryLock{s: s, client: client, key: key}
					if adapt != nil {
						adapt(l)
					}
					return l, nil
				}, nil
			},
		})
		ops = rec.Ops()
	})
	if _, perr := history.Pairs(ops); perr != nil {
		t.Errorf("impossible history: %v", perr)
	}
	return ops, err
}

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
			ops, err := play(t, name, &world{}, options, nil)
			if err != nil {
				t.Fatal(err)
			}
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

func TestReadersShareAndSeeEqualPairs(t *testing.T) {
	ops, err := play(t, "read-write", &world{}, options, nil)
	if err != nil {
		t.Fatal(err)
	}
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
		ops, err := play(t, "mutex", &world{}, opts, nil)
		if err != nil {
			t.Fatal(err)
		}
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
			ops, err := play(t, "mutex", &world{}, options, func(l *memoryLock) { l.try = func() error { return stuck } })
			if err != nil {
				t.Fatal(err)
			}
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
	w := &world{at: func(client int, step string) error {
		if client == 1 && step == "touch" {
			crashed = true
		}
		if client == 1 && crashed {
			return testbed.ErrCrashed
		}
		return nil
	}}
	ops, err := play(t, "mutex", w, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(ops, func(op history.Op) bool { return op.Client == 1 && op.F == history.FRelease }); n != 0 {
		t.Errorf("the crashed client released %d times", n)
	}
}

func TestACarefulClientStopsAtItsDeadlineAndATrustingOneDoesNot(t *testing.T) {
	for _, trusting := range []bool{false, true} {
		opts := options
		opts.Trusting, opts.Clients = trusting, 1
		ops, err := play(t, "mutex", &world{}, opts, func(l *memoryLock) {
			l.deadline = func() time.Time { return time.Now().Add(opts.Hold / 2) }
		})
		if err != nil {
			t.Fatal(err)
		}
		writes := count(ops, is(history.FWrite, history.OK))
		lost := count(ops, is(history.FLost, history.Info))
		if trusting != (writes > 0) || trusting != (lost == 0) {
			t.Errorf("trusting %v: %d writes, %d lost", trusting, writes, lost)
		}
	}
}

func TestADeadlineIsRecordedOnTheClientsOwnClock(t *testing.T) {
	w := &world{skew: time.Minute}
	opts := options
	opts.Clients = 1
	ops, err := play(t, "mutex", w, opts, func(l *memoryLock) {
		l.deadline = func() time.Time { return time.Now().Add(w.skew + time.Second) }
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops {
		if op.F == history.FAcquire && op.Type == history.OK {
			if got, want := op.Lease.Deadline, op.Time+w.skew+time.Second; got != want {
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
	ops, err := play(t, "mutex", &world{}, opts, func(l *memoryLock) { l.lost = lost })
	if err != nil {
		t.Fatal(err)
	}
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
	ops, err := play(t, "mutex", &world{}, opts, func(l *memoryLock) {
		calls := 0
		l.try = func() error {
			if calls++; calls%2 == 1 {
				return errors.New("i/o timeout")
			}
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
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

func TestReentryRefusedTellsTheHolderThatItLost(t *testing.T) {
	opts := options
	opts.Clients = 1
	ops, err := play(t, "reentrant", &world{}, opts, func(l *memoryLock) {
		calls := 0
		l.try = func() error {
			if calls++; calls%2 == 0 {
				return locks.ErrBusy
			}
			return nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if count(ops, is(history.FLost, history.Info)) == 0 {
		t.Error("no lost event after a refused re-entry")
	}
}

func TestAPanicOfARecipeEndsTheTrialWithAnError(t *testing.T) {
	_, err := play(t, "mutex", &world{}, options, func(l *memoryLock) { l.try = func() error { panic("index out of range") } })
	if err == nil || !strings.Contains(err.Error(), "recipe memory panicked: index out of range") {
		t.Errorf("got %v", err)
	}
}

func TestSameSeedSameHistory(t *testing.T) {
	opts := options
	opts.Clients = 1 // several clients share instants, which the runtime orders at will
	for _, name := range []string{"mutex", "reentrant", "read-write"} {
		a, _ := play(t, name, &world{}, opts, nil)
		b, _ := play(t, name, &world{}, opts, nil)
		if history.Hash(a, nil) != history.Hash(b, nil) {
			t.Errorf("%s: two runs differ", name)
		}
	}
}

func TestOverrunHoldsBeyondTheLeaseTime(t *testing.T) {
	opts := options
	opts.Clients, opts.Overrun = 1, 1
	ops, err := play(t, "mutex", &world{}, opts, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := slices.IndexFunc(ops, is(history.FRead, history.OK))
	write := slices.IndexFunc(ops, is(history.FWrite, history.OK))
	if read < 0 || write < 0 || ops[write].Time-ops[read].Time < opts.TTL {
		t.Error("no critical section outlasted its lease")
	}
}
