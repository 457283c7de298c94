package foreign_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/childtest"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/testbed/process"
)

// reaching is a client of a real testbed.
type reaching interface {
	Route() testbed.Route
	Connect(ctx context.Context, addr string) (net.Conn, error)
}

// stage is a child of this test program on real Redis.
type stage struct {
	*testing.T
	ctx   context.Context
	env   testbed.Env
	child foreign.Child

	mu     sync.Mutex
	stalls []time.Duration
}

// own runs a body with a child of this test program, whose recipe the job describes.
func own(t *testing.T, body func(s *stage, make func(key string) locks.Lock)) {
	t.Helper()
	started(t, testbed.Single, 5*time.Second, func(s *stage) {
		m, err := s.child.Bind(s.ctx, []byte(`"probes"`))
		if err != nil {
			t.Error(err)
			return
		}
		body(s, func(key string) locks.Lock {
			l, err := m(key, time.Second)
			if err != nil {
				t.Error(err)
			}
			return l
		})
	})
}

func started(t *testing.T, topology testbed.Topology, timeout time.Duration, body func(s *stage)) {
	t.Helper()
	t.Setenv(asChild, "1")
	tb, err := process.New(process.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	err = tb.Run(t.Context(), testbed.Setup{
		Topology: topology, Nodes: 2, Clients: 1, Seed: 3, CommandTimeout: timeout, Clock: tb.Clock(), Commands: func(history.Command) {},
	}, func(ctx context.Context, env testbed.Env) (err error) {
		s := &stage{T: t, ctx: ctx, env: env}
		r := env.Client(0).(reaching)
		s.child, err = foreign.StartOwn(env.Client(0).Locks(), foreign.Own{
			Argv: []string{os.Args[0]}, Route: r.Route(), Connect: r.Connect, CommandTimeout: timeout, Stalled: s.stalled,
		})
		if err == nil {
			body(s)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for range 100 { // a killed child ends soon
		if len(childtest.Children(t)) == 0 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("processes left behind: %v", childtest.Children(t))
}

func (s *stage) stalled(late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalls = append(s.stalls, late)
}

func TestALeaseOfAChildIsTheLocksOwn(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		for _, key := range []string{"plain", "bare", "wall", "steady", "lost", "redis", "prints"} {
			l := make(key)
			lease, err := l.TryLock(s.ctx)
			if err != nil {
				s.Errorf("%s: %v", key, err)
			}
			if want := (locks.Lease{}); key == "bare" && lease != want || key != "bare" && (lease.Token != "c0 "+key || lease.Fence != 12 && key != "redis") {
				s.Errorf("%s: got %+v", key, lease)
			}
			if left := time.Until(lease.Deadline); lease.Deadline.IsZero() == (key == "wall" || key == "steady") || lease.Monotonic != (key == "steady") ||
				!lease.Deadline.IsZero() && (left < time.Second/2 || left > time.Second) {
				s.Errorf("%s: the deadline is %v, in %v", key, lease.Deadline, left)
			}
			if key == "lost" {
				select {
				case <-lease.Lost():
				case <-time.After(10 * time.Second):
					s.Error("the loss is not told")
				}
			}
			if key == "redis" {
				continue
			}
			longer, err := l.(locks.Extender).Extend(s.ctx, lease)
			if err != nil || longer.Fence != lease.Fence+1 || longer.Token != lease.Token+"+" {
				s.Errorf("%s: extended to %+v, %v", key, longer, err)
			}
			if key == "bare" { // is no longer the lease without properties
				continue
			}
			if err := l.Unlock(s.ctx, longer); err != nil {
				s.Errorf("%s: %v", key, err)
			}
		}
	})
}

func TestAnErrorOfAChildIsOfTheSameKindAndText(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		for key, want := range answers {
			lease, err := make(key).TryLock(s.ctx)
			for _, is := range []error{locks.ErrBusy, locks.ErrPresumed, locks.ErrRefused, locks.ErrNotHeld} {
				if errors.Is(err, is) != errors.Is(want, is) {
					s.Errorf("%s: got %v, want %v", key, err, want)
				}
			}
			if err == nil || err.Error() != want.Error() || lease.Token != "c0 "+key {
				s.Errorf("%s: got %+v, %v, want %v and the token", key, lease, err, want)
			}
		}
		l := make("plain")
		if err := l.Unlock(s.ctx, locks.Lease{Token: "another"}); !errors.Is(err, locks.ErrRefused) {
			s.Errorf("got %v for a lease that was not granted", err)
		}
		lease, _ := l.TryLock(s.ctx)
		if _, err := l.(locks.Extender).Extend(s.ctx, lease); err != nil {
			s.Error(err)
		}
		other, _ := l.TryLock(s.ctx)
		if err := l.Unlock(s.ctx, lease); !errors.Is(err, locks.ErrNotHeld) {
			s.Errorf("got %v for a lease before %+v", err, other)
		}
	})
}

func TestAHandleOfAChildDoesWhatTheLocksHandleDoes(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		if lease, err := make("bytes").TryLock(s.ctx); err != nil || lease.Token != "\xff\x00" {
			s.Errorf("got %+v, %v", lease, err)
		}
		lease, err := make("plain").(locks.TokenLocker).TryLockWith(s.ctx, "mine")
		if err != nil || lease.Token != "mine" {
			s.Errorf("own token: got %+v, %v", lease, err)
		}
		w := make("waits")
		if lease, err := w.(locks.Blocker).Lock(s.ctx); err != nil || lease.Fence != 1 {
			s.Errorf("blocking: got %+v, %v", lease, err)
		}
		if lease, err := w.TryLock(s.ctx); err != nil || lease.Fence != 12 {
			s.Errorf("one attempt: got %+v, %v", lease, err)
		}
		if _, ok := make("plain").(locks.Blocker); ok {
			s.Error("a lock that cannot wait waits")
		}
		rw := make("read-write").(locks.RWLocker)
		for mode, l := range map[string]locks.Lock{"read": rw.Read(), "write": rw.Write()} {
			lease, err := l.TryLock(s.ctx)
			if err != nil || lease.Token != "c0 "+mode {
				s.Errorf("%s: got %+v, %v", mode, lease, err)
			}
			if err := l.Unlock(s.ctx, lease); err != nil {
				s.Errorf("%s: %v", mode, err)
			}
		}
	})
}

func TestTheContextOfACallEndsInTheChildToo(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		for want, with := range map[error]func() (context.Context, context.CancelFunc){
			context.DeadlineExceeded: func() (context.Context, context.CancelFunc) { return context.WithTimeout(s.ctx, 20*time.Millisecond) },
			context.Canceled: func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(s.ctx)
				time.AfterFunc(20*time.Millisecond, cancel)
				return ctx, cancel
			},
		} {
			ctx, cancel := with()
			if _, err := make("until").TryLock(ctx); err == nil || err.Error() != want.Error() {
				s.Errorf("got %v, want %v", err, want)
			}
			cancel()
			ctx, cancel = context.WithCancel(s.ctx) // the lock may use it after the call
			lease, err := make("ends").TryLock(ctx)
			if err != nil {
				s.Error(err)
			}
			cancel()
			<-lease.Lost()
		}
	})
}

// ends returns the value of the panic by which a call ended.
func ends(do func()) (e testbed.Elsewhere) {
	defer func() { e, _ = recover().(testbed.Elsewhere) }()
	do()
	return e
}

func TestHowTheCodeUnderTestEndsACallIsTold(t *testing.T) {
	for key, want := range map[string]string{
		"panics":     "panicked: caught (in github.com/lockstorm/lockstorm/testbed/foreign_test.(*probe).TryLock, main_test.go:",
		"goexit":     "ended its goroutine, by runtime.Goexit",
		"background": "panic: the answer is lost (in github.com/lockstorm/lockstorm/testbed/foreign_test.",
		"exits":      "panic: the code under test ended its process: exit status 3",
	} {
		own(t, func(s *stage, make func(string) locks.Lock) {
			l := make(key)
			e := ends(func() { _, _ = l.TryLock(s.ctx) })
			got := e.Did
			if e.Err != nil {
				got = e.Err.Error()
			}
			if !strings.Contains(got, want) {
				s.Errorf("%s: got %q, want %q", key, got, want)
			}
			if err := s.child.Settle(); (err == nil) != (e.Err == nil) || err != nil && err.Error() != got {
				s.Errorf("%s: in the end got %v, want %v", key, err, e.Err)
			}
		})
	}
	started(t, testbed.Single, 5*time.Second, func(s *stage) {
		if e := ends(func() { _, _ = s.child.Bind(s.ctx, []byte(`"panics"`)) }); !strings.HasPrefix(e.Did, "panicked: unbound") {
			s.Errorf("got %+v", e)
		}
		if _, err := s.child.Bind(s.ctx, []byte(`"refuses"`)); err == nil || err.Error() != "no such recipe" {
			s.Errorf("got %v", err)
		}
		m, err := s.child.Bind(s.ctx, []byte(`"probes"`))
		if err != nil {
			s.Error(err)
			return
		}
		if _, err := m("none", time.Second); err == nil || err.Error() != "no lock of this name" {
			s.Errorf("got %v", err)
		}
	})
}

// A death that nobody asked for and that the code under test did not cause is the harness's failure.
func TestAChildThatIsKilledByAStrangerProvesNothing(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		l := make("plain")
		pid := s.pid(make)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			s.Error(err)
		}
		var b *testbed.Breakdown
		e := ends(func() { _, _ = l.TryLock(s.ctx) })
		if e.Err == nil || errors.As(e.Err, &b) || !strings.Contains(e.Err.Error(), "signal: killed") {
			s.Errorf("got %+v", e)
		}
	})
	own(t, func(s *stage, make func(string) locks.Lock) {
		l := make("plain")
		if err := s.env.(testbed.Clients).CrashClient(0); err != nil {
			s.Error(err)
		}
		if _, err := l.TryLock(s.ctx); err == nil { // no panic: a fault killed it
			s.Error("a killed child has granted a lock")
		}
		if err := s.child.Settle(); err != nil {
			s.Error(err)
		}
	})
}

func TestAChildReachesTheNodesOfEveryTopology(t *testing.T) {
	for topology, nodes := range map[testbed.Topology]int64{testbed.Independent: 2, testbed.Replicated: 1, testbed.Sentinel: 1, testbed.Cluster: 1} {
		t.Run(string(topology), func(t *testing.T) {
			started(t, topology, 5*time.Second, func(s *stage) {
				m, err := s.child.Bind(s.ctx, []byte(`"probes"`))
				if err != nil {
					t.Error(err)
					return
				}
				for range 3 {
					l, err := m("redis", time.Second)
					if err != nil {
						t.Error(err)
						return
					}
					if lease, err := l.TryLock(s.ctx); err != nil || lease.Fence != nodes {
						t.Errorf("reached %d nodes, %v, want %d", lease.Fence, err, nodes)
					}
				}
			})
		})
	}
}

func TestServeIsForChildren(t *testing.T) {
	if err := foreign.Serve(t.Context(), bind); !errors.Is(err, foreign.ErrNoTrial) {
		t.Errorf("got %v", err)
	}
}
