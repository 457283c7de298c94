package clientproc

import (
	"context"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// env is a world without faults. Its node returns every command as the reply.
type env struct{ testbed.Env }

type client struct{ testbed.Client }

// works counts the calls of Work. The first call prolongs the work; later calls return ErrHung.
var works atomic.Int32

func (env) Client(int) testbed.Client                   { return client{} }
func (client) Step(ctx context.Context, _ string) error { return ctx.Err() }
func (client) Work(context.Context) (<-chan struct{}, error) {
	if works.Add(1) > 1 {
		return nil, testbed.ErrHung
	}
	done := make(chan struct{})
	time.AfterFunc(10*time.Millisecond, func() { close(done) })
	return done, nil
}
func (client) Open(int) {}

var _ reacher = client{}

func (client) Route() testbed.Route { return testbed.Route{} }

func (client) Connect(ctx context.Context, addr string) (net.Conn, error) {
	if addr != "n0" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		_, _ = io.Copy(far, far)
	}()
	return near, nil
}

// stage is a host whose clients run one of the scenes, such as "tick".
type stage struct {
	*Host
	rec    *history.Recorder
	healed chan struct{}
}

// open calls the functions in before, then starts the clients.
func open(t testing.TB, scene string, clients int, before ...func(*Host)) (*stage, error) {
	t.Helper()
	t.Setenv(asClient, "1")
	started := time.Now()
	s := &stage{healed: make(chan struct{})}
	s.rec = history.NewRecorder(nil, func() time.Duration { return time.Since(started) })
	s.Host = NewHost(clients, s.rec.Now)
	t.Cleanup(func() {
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	for _, do := range before {
		do(s.Host)
	}
	w, _ := workloads.ByName("mutex")
	return s, s.Start(t.Context(), []string{os.Args[0]}, World{
		Env: env{}, Rec: s.rec, Healed: s.healed, Job: []byte(scene),
		Resources: w.Resources(workloads.Options{Keys: 1}, history.Claims{}),
		Stalled:   func(late time.Duration) (time.Duration, error) { return late, nil },
	})
}

func mustOpen(t testing.TB, scene string, clients int) *stage {
	t.Helper()
	s, err := open(t, scene, clients)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
