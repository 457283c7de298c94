package workloads

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// fakeEnv is an Env without Redis. Its locks are in memory, and its clock is that of the synctest
// bubble.
type fakeEnv struct {
	start  time.Time
	skew   time.Duration
	fenced bool
	waits  bool                                      // the recipe claims that every acquire waits
	at     func(client int, step string) error       // called at each step; nil = no call
	work   func(client int) (<-chan struct{}, error) // nil = no fault prolongs work
	awake  func(client int)                          // waits while the client is frozen; nil = no client is ever frozen
}

func (e *fakeEnv) Now() time.Duration          { return time.Since(e.start) }
func (e *fakeEnv) Client(i int) testbed.Client { return &client{e, i} }
func (c *client) Open(int)                     {}
func (c *client) Locks() *locks.Client         { return &locks.Client{Now: c.now} }
func (c *client) now() time.Time               { return time.Now().Add(c.w.skew) }
func (c *client) Step(ctx context.Context, name string) (err error) {
	if c.w.at != nil {
		err = c.w.at(c.i, name)
	}
	return errors.Join(err, ctx.Err())
}

func (c *client) Awake(ctx context.Context) error {
	if c.w.awake != nil {
		c.w.awake(c.i)
	}
	return ctx.Err()
}

func (c *client) Work(ctx context.Context) (<-chan struct{}, error) {
	if c.w.work != nil {
		return c.w.work(c.i)
	}
	return nil, ctx.Err()
}

type client struct {
	w *fakeEnv
	i int
}

// server has the true state behind all memoryLocks of a trial: which client holds which lock.
type server struct {
	mu      sync.Mutex
	owner   map[string]int // lock → number of the client + 1; 0 = free
	count   map[string]int
	readers map[string]int
}

// expire frees the lock if this client has it, as the end of its lease would.
func (s *server) expire(key string, client int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner[key] == client+1 {
		s.owner[key], s.count[key] = 0, 0
	}
}

// memoryLock is a client's lock without Redis. The fields after mode change what it does; their zero
// values make a sound lock.
type memoryLock struct {
	s        *server
	client   int
	key      string
	mode     history.Mode
	deadline func() time.Time
	fence    func() int64
	lost     chan struct{}
	free     bool         // grants the lock to every client at any time
	unlock   func() error // replaces a plain release
	try      func() error // runs at the beginning of each attempt
	polled   bool         // the lock waits by bounded polling
	waiting  bool         // the lock waits in its own way
	extend   func() error // prolongs the lease; nil = the lock has no Extend
}

// waitingLock is a memoryLock that is a locks.Blocker.
type waitingLock struct{ *memoryLock }

func (l waitingLock) Lock(ctx context.Context) (locks.Lease, error) {
	return locks.Wait(ctx, l.memoryLock, 10*time.Millisecond)
}

// extendedLock is a memoryLock that is a locks.Extender. A prolonged lease keeps its Lost channel.
type extendedLock struct{ *memoryLock }

func (l extendedLock) Extend(_ context.Context, lease locks.Lease) (locks.Lease, error) {
	return lease, l.extend()
}

// polledLock is a memoryLock that is a locks.Poller.
type polledLock struct{ *memoryLock }

func (polledLock) Poll(ctx context.Context, attempts locks.Lock, interval time.Duration, maximum int) (locks.Lease, error) {
	return locks.Poll(ctx, attempts, interval, maximum)
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
	if l.fence != nil {
		lease.Fence = l.fence()
	}
	switch {
	case l.free:
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

// played is play for a run that must not fail.
func played(t *testing.T, name string, e *fakeEnv, opts Options, adapt func(*memoryLock)) []history.Op {
	t.Helper()
	ops, err := play(t, name, e, opts, adapt)
	if err != nil {
		t.Fatal(err)
	}
	return ops
}

// play runs a workload in virtual time and returns its history. adapt changes each client's lock
// before use; nil = the lock is sound.
func play(t *testing.T, name string, e *fakeEnv, opts Options, adapt func(*memoryLock)) (ops []history.Op, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e.start = time.Now()
		rec := history.NewRecorder(nil, e.Now)
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
			Env: e, Opts: opts, Rec: rec, Healed: healed,
			Claims: history.Claims{Lock: "memory", TTL: opts.TTL, Recovery: opts.TTL, Fenced: e.fenced, Waits: e.waits},
			Make: func(client int) (locks.Maker, error) {
				return func(key string, _ time.Duration) (locks.Lock, error) {
					l := &memoryLock{s: s, client: client, key: key}
					if adapt != nil {
						adapt(l)
					}
					if l.polled {
						return polledLock{l}, nil
					}
					if l.extend != nil {
						return extendedLock{l}, nil
					}
					if l.waiting {
						return waitingLock{l}, nil
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
