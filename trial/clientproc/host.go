package clientproc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/rpc"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// Host runs the client processes of one trial. It implements testbed.Processes. There are no processes
// before Start: a Freeze before Start takes effect when the client's process is ready.
type Host struct {
	procs []*process
	skews []*skew
	now   func() time.Duration

	ctx     context.Context // context of the rpc handlers
	cancel  context.CancelFunc
	relay   *relay
	healed  <-chan struct{}
	begun   chan struct{} // closed when Run is called
	over    chan struct{} // closed when each session has ended without failure, or Kill has ended it
	serving sync.WaitGroup
}

var _ testbed.Processes = (*Host)(nil)

// NewHost returns a host for the given number of clients. now is the history's clock. The caller
// closes the host.
func NewHost(clients int, now func() time.Duration) *Host {
	h := &Host{now: now, begun: make(chan struct{}), over: make(chan struct{})}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for id := range clients {
		h.procs = append(h.procs, newProcess(id))
	}
	return h
}

// World is what the host gives to client processes.
type World struct {
	// Env is the running world. Its clients name the addresses of the nodes and make the
	// connections.
	Env            testbed.Env
	Seed           uint64
	CommandTimeout time.Duration
	Rec            workloads.Recorder
	Resources      map[string]workloads.Resource
	// Healed is closed when the liveness phase begins.
	Healed <-chan struct{}
	// Stalled receives how long a client process was not scheduled. It returns the longest
	// such time so far: shorter ones need no report.
	Stalled func(late time.Duration) (longest time.Duration, err error)
	// Job describes the clients' task. Session.Job returns it to the client.
	Job []byte
}

// reacher is a client of a testbed, such as *gate.Client, that can run in another process.
type reacher interface {
	Route() testbed.Route
	Connect(ctx context.Context, addr string) (net.Conn, error)
}

func reaching(e testbed.Env, client int) reacher { return e.Client(client).(reacher) }

// Start starts the processes; argv is the command line of a program that calls Join. It returns when
// all clients have their connections and wait for Run. The error is a *Death if a process died before
// its session ended.
func (h *Host) Start(ctx context.Context, argv []string, w World) (err error) {
	if _, ok := w.Env.Client(0).(reacher); !ok {
		return errors.New("clients of this testbed cannot have processes of their own")
	}
	h.healed = w.Healed
	h.relay, err = openRelay(func(ctx context.Context, client int, addr string) (net.Conn, error) {
		if client < 0 || client >= len(h.procs) {
			return nil, fmt.Errorf("no client %d", client)
		}
		return reaching(w.Env, client).Connect(ctx, addr)
	})
	if err != nil {
		return err
	}
	origin, err := originOf(h.now, monotonic)
	if err != nil {
		return err
	}
	for _, p := range h.procs {
		if err := h.start(argv, p, w, origin); err != nil {
			return fmt.Errorf("client %d: %w", p.id, err)
		}
	}
	for _, p := range h.procs {
		select {
		case <-p.ready:
		case <-p.exited:
			select {
			case <-p.ended: // a failed session explains why the process ended
				if err := p.outcome(); err != nil {
					return err
				}
			default:
			}
			if d := p.death(); d != nil {
				return d
			}
			return errors.New("client process ended before it began")
		case <-p.ended:
			return p.outcome()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// originReadings is the number of times that originOf reads the clocks, to get at least one
// undisturbed reading.
const originReadings = 16

// originOf returns the machine's clock at the start of the trial's clock, or a little later, so
// that the clients' clocks are never ahead of the trial's. The origin is late by at most the time
// between two readings of the trial's clock: one before the reading of the machine's clock, one after
// it. So originOf uses the closest pair of readings. Between the readings of other pairs, this process
// may not have been scheduled.
func originOf(trial func() time.Duration, machine func() (time.Duration, error)) (origin time.Duration, err error) {
	closest := time.Duration(math.MaxInt64)
	for range originReadings {
		before := trial()
		now, err := machine()
		if err != nil {
			return 0, err
		}
		if apart := trial() - before; apart < closest {
			closest, origin = apart, now-before
		}
	}
	return origin, nil
}

func (h *Host) start(argv []string, p *process, w World, origin time.Duration) error {
	s, clock, err := newSkew()
	if err != nil {
		return err
	}
	defer clock.Close()
	h.skews = append(h.skews, s)
	trial := &trial{host: h, process: p, world: w, hello: Hello{
		ID: p.id, Seed: w.Seed, Route: reaching(w.Env, p.id).Route(), Relay: h.relay.Addr().String(),
		CommandTimeout: w.CommandTimeout, Origin: origin, Job: w.Job,
	}}
	server := rpc.NewServer()
	if err := server.RegisterName(serviceName, trial); err != nil {
		return err
	}
	if err := p.start(argv, clock); err != nil {
		return err
	}
	h.serving.Go(func() { server.ServeCodec(newCodec(p.pipe, &p.garbled)) })
	return nil
}

// Run lets the clients begin. It returns nil when every session has ended or was ended by Kill.
// When a session fails, it returns a *testbed.Breakdown, a *Death, or the harness's own error.
// After a failure, or when ctx ends, the caller closes the host.
func (h *Host) Run(ctx context.Context) error {
	close(h.begun)
	failed := make(chan error, len(h.procs))
	for _, p := range h.procs {
		h.serving.Go(func() { failed <- p.await(h.ctx) })
	}
	for range h.procs {
		select {
		case err := <-failed:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	close(h.over)
	return nil
}

// await waits until the session or the process has ended, or ctx ends. The error is nil if the session
// ended well or Kill ended the process.
func (p *process) await(ctx context.Context) error {
	select {
	case <-p.ended:
		return p.outcome()
	case <-p.exited:
		select {
		case <-p.ended:
			return p.outcome()
		default:
		}
		if d := p.death(); d != nil {
			return d
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outcome returns the error of a session that has ended.
func (p *process) outcome() error {
	switch e := p.end; {
	case e.Broken != nil:
		return fmt.Errorf("client %d: %w", p.id, e.Broken)
	case e.Err != "":
		return fmt.Errorf("client %d: %s", p.id, e.Err)
	}
	return nil
}

// Died returns the *Death of a process that has ended without being killed on purpose, even if its
// session ended before; nil if there is none.
func (h *Host) Died() error {
	for _, p := range h.procs {
		if p.cmd == nil || !p.gone() {
			continue
		}
		if d := p.death(); d != nil {
			return d
		}
	}
	return nil
}

// Close kills the remaining processes and waits until all are gone. It may be called
// twice.
func (h *Host) Close() error {
	h.cancel()
	var errs []error
	for _, p := range h.procs {
		p.kill()
		if p.pipe.out != nil {
			p.pipe.out.Close() // ends the process's calls
		}
	}
	if h.relay != nil {
		if err := h.relay.close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	h.serving.Wait()
	for _, s := range h.skews {
		errs = append(errs, s.close())
	}
	h.skews = nil
	return errors.Join(errs...)
}

// Freeze implements testbed.Processes.
func (h *Host) Freeze(client int) error { return h.procs[client].freeze(h.now) }

// Thaw implements testbed.Processes.
func (h *Host) Thaw(client int) error { h.procs[client].thaw(h.now); return nil }

// Kill implements testbed.Processes.
func (h *Host) Kill(client int) error { h.procs[client].kill(); return nil }

// Skew implements testbed.Processes.
func (h *Host) Skew(client int, offset time.Duration) {
	if client < len(h.skews) {
		h.skews[client].set(offset)
	}
}
