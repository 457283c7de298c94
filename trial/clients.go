package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/workloads"
)

// How the clients of a trial run: values of campaign.Config.ClientsAs and Spec.ClientsAs.
const (
	// Goroutines: clients are goroutines of this process; the gate pauses and crashes them.
	Goroutines = "goroutines"
	// Processes: clients have processes of their own, which are stopped and killed. Real time only.
	Processes = "processes"
)

// outside says whether clients need processes of their own.
func (t *running) outside() bool { return t.spec.ClientsAs == Processes && !t.recipe.Apart }

// CheckClients returns an input.Error if the testbed cannot run clients of this kind.
func CheckClients(as string, tb testbed.Testbed) error {
	switch {
	case as != "" && as != Goroutines && as != Processes:
		return input.Errorf("%s %q: expected %s or %s", input.Setting("clients-as"), as, Goroutines, Processes)
	case as == Processes && !RealTime(tb):
		return input.Errorf("%s %s: testbed %s has a time of its own, which a process does not see; expected %s, or a testbed with real Redis", input.Setting("clients-as"), as, tb.Name(), Goroutines)
	}
	return nil
}

// reacher is a client of a testbed, such as *gate.Client, that can run in another process.
type reacher interface {
	Route() testbed.Route
	Connect(ctx context.Context, addr string) (net.Conn, error)
}

// startClients starts the processes of the clients, which then have their connections. They end with the
// testbed's clients.
func (t *running) startClients(env testbed.Env) error {
	if len(t.spec.ClientCommand) == 0 {
		return errors.New("clients as processes: there is no program for them")
	}
	t.children = make([]foreign.Child, t.spec.Options.Clients)
	var starting errgroup.Group
	for id := range t.children {
		starting.Go(func() (err error) {
			client, ok := env.Client(id).(reacher)
			if !ok {
				return errors.New("clients of this testbed cannot have processes of their own")
			}
			t.children[id], err = foreign.StartOwn(t.processes.of(env.Client(id).Locks()), foreign.Own{
				Argv: t.spec.ClientCommand, Route: client.Route(), CommandTimeout: t.spec.CommandTimeout,
				Connect: client.Connect, Stalled: t.stalls.note,
			})
			if err != nil {
				return fmt.Errorf("client %d: %w", id, err)
			}
			return nil
		})
	}
	if err := starting.Wait(); err != nil {
		return fmt.Errorf("start client processes: %w", err)
	}
	return nil
}

// clients runs the clients until the liveness phase is over.
func (t *running) clients(ctx context.Context, env testbed.Env, ready func(), healed <-chan struct{}) error {
	t.stalls.watch(t.rec)
	world := t.world(env, healed)
	world.Ready = ready
	err := t.workload.Body(ctx, world)
	if err == nil {
		err = t.settle()
	}
	t.stalls.watch(nil)
	if err != nil {
		errors.As(err, &t.broken)
		return fmt.Errorf("workload %s: %w", t.workload.Name, err)
	}
	return nil
}

// settle reports what the clients' processes did that shows in no operation: stalls, and how a process ended.
func (t *running) settle() error {
	for id, c := range t.children {
		err := c.Settle()
		if b := new(testbed.Breakdown); errors.As(err, &b) {
			return &testbed.Breakdown{Kind: b.Kind, Detail: fmt.Sprintf("client %d: %s", id, b.Detail), Stack: b.Stack}
		}
		if err != nil {
			return fmt.Errorf("client %d: %w", id, err)
		}
	}
	return nil
}

func (t *running) world(env testbed.Env, healed <-chan struct{}) workloads.World {
	return workloads.World{
		Env:    env,
		Make:   func(client int) (locks.Maker, error) { return t.maker(env, client) },
		Claims: t.claims,
		Opts:   t.spec.Options,
		Rec:    t.rec,
		Healed: healed, Remedies: t.remedies,
	}
}

// maker binds the recipe to a client.
func (t *running) maker(env testbed.Env, client int) (locks.Maker, error) {
	c := env.Client(client).Locks()
	if !t.outside() {
		return t.recipe.Bind(t.processes.of(c))
	}
	job, err := json.Marshal(t.spec)
	if err != nil {
		return nil, fmt.Errorf("encode the trial: %w", err)
	}
	return t.children[client].Bind(c.Context, job)
}

// stalls records each new maximum of the times for which client processes were not scheduled.
type stalls struct {
	mu    sync.Mutex
	rec   *history.Recorder // nil = nothing is recorded now
	worst time.Duration
}

// watch begins to record stalls; nil ends that.
func (s *stalls) watch(rec *history.Recorder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec, s.worst = rec, heartbeatLate
}

// note implements foreign.Own.Stalled.
func (s *stalls) note(late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rec != nil && late > s.worst {
		s.worst = late
		_ = recordStall(s.rec, late) // fails only after the history's end
	}
}

// ServeClient serves the lock of one client of a trial whose clients are Processes. It returns when the
// trial no longer needs the process. The error is an input.Error if no trial started this process.
// A process must call ServeClient only once.
func ServeClient(ctx context.Context) error {
	err := foreign.Serve(ctx, func(job []byte, c *locks.Client) (locks.Maker, error) {
		var spec Spec
		if err := json.Unmarshal(job, &spec); err != nil {
			return nil, fmt.Errorf("expected a trial: %w", err)
		}
		recipe, err := spec.Recipe()
		if err != nil {
			return nil, err
		}
		return recipe.Bind(c)
	})
	if errors.Is(err, foreign.ErrNoTrial) {
		return &input.Error{Err: err}
	}
	return err
}
