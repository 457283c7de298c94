package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/input"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial/clientproc"
	"github.com/lockstorm/lockstorm/workloads"
)

// How the clients of a trial run: values of campaign.Config.ClientsAs and Spec.ClientsAs.
const (
	// Goroutines: clients are goroutines of this process; the gate pauses and crashes them.
	Goroutines = "goroutines"
	// Processes: clients have processes of their own, which are stopped and killed. Real time only.
	Processes = "processes"
)

// outside says whether clients have processes of their own.
func (s Spec) outside() bool { return s.ClientsAs == Processes }

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

// newHost returns the host of the trial's client processes; nil if its clients are
// goroutines.
func (t *running) newHost(tb testbed.Testbed) (*clientproc.Host, error) {
	if err := CheckClients(t.spec.ClientsAs, tb); err != nil || !t.spec.outside() {
		return nil, err
	}
	if len(t.spec.ClientCommand) == 0 {
		return nil, errors.New("clients as processes: there is no program for them")
	}
	return clientproc.NewHost(t.spec.Options.Clients, t.rec.Now), nil
}

func (t *running) startClients(ctx context.Context, env testbed.Env, healed <-chan struct{}) error {
	job, err := json.Marshal(t.spec)
	if err != nil {
		return fmt.Errorf("encode the trial: %w", err)
	}
	s := stalls{rec: t.rec, worst: heartbeatLate}
	err = t.host.Start(ctx, t.spec.ClientCommand, clientproc.World{
		Env: env, Seed: t.spec.Seed, CommandTimeout: t.spec.CommandTimeout, Job: job,
		Rec: t.rec, Resources: t.workload.Resources(t.spec.Options, t.claims), Healed: healed, Stalled: s.note,
	})
	var died *clientproc.Death
	if errors.As(err, &died) { // the process died before the code under test ran
		err = fmt.Errorf("%w: %s", err, crash.FirstLine(died.Said))
	}
	if err != nil {
		return fmt.Errorf("start client processes: %w", err)
	}
	return nil
}

// clients runs the clients until the liveness phase is over.
func (t *running) clients(ctx context.Context, env testbed.Env, healed <-chan struct{}) error {
	var err error
	if t.host != nil {
		err = t.attribute(t.host.Run(ctx))
	} else {
		err = t.workload.Body(ctx, t.world(env, healed))
	}
	if err != nil {
		errors.As(err, &t.broken)
		return fmt.Errorf("workload %s: %w", t.workload.Name, err)
	}
	return nil
}

func (t *running) world(env testbed.Env, healed <-chan struct{}) workloads.World {
	return workloads.World{
		Env: env,
		Make: func(client int) (locks.Maker, error) {
			return t.recipe.Bind(t.processes.of(env.Client(client).Locks()))
		},
		Claims: t.claims,
		Opts:   t.spec.Options,
		Rec:    t.rec,
		Healed: healed,
	}
}

// attribute attributes the death of a client process to the code under test, if that code
// caused it.
func (t *running) attribute(err error) error {
	var died *clientproc.Death
	if !errors.As(err, &died) {
		return err
	}
	d := crash.Death{Stderr: died.Said, Cut: died.Cut, How: died.How, Exited: died.Exited}
	if died.Garbled {
		d.Killed = crash.Garbled
	}
	b, failure := d.Breakdown()
	if failure != nil {
		return fmt.Errorf("%w: %w: %s", died, failure, crash.FirstLine(died.Said))
	}
	b.Detail, b.Stack = fmt.Sprintf("client %d: %s", died.Client, b.Detail), died.Said
	t.broken = b
	return b
}

// stalls records each new maximum of the times for which client processes were not
// scheduled.
type stalls struct {
	rec *history.Recorder

	mu    sync.Mutex
	worst time.Duration
}

// note implements clientproc.World.Stalled.
func (s *stalls) note(late time.Duration) (longest time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if late > s.worst {
		s.worst = late
		err = recordStall(s.rec, late)
	}
	return s.worst, err
}

// ServeClient runs one client process of a trial whose clients are Processes. It returns when the
// trial no longer needs the process. The error is an input.Error if no trial started this process.
// A process must call ServeClient only once.
func ServeClient(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s, err := clientproc.Join(ctx)
	switch {
	case errors.Is(err, clientproc.ErrNoTrial):
		return &input.Error{Err: err}
	case err != nil:
		return fmt.Errorf("client: %w", err)
	}
	var end clientproc.End
	leave, err := liveAsClient(ctx, s)
	if err != nil && !errors.As(err, &end.Broken) {
		end.Err = err.Error()
	}
	// Report the end even if ctx has ended: only this process knows it.
	if err := s.Ended(context.WithoutCancel(ctx), end); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	leave()
	s.Stay(ctx)
	return nil
}

// liveAsClient runs the session of a client in this process. leave ends the contexts of the client's
// locks, and so their background work; it is never nil.
func liveAsClient(ctx context.Context, s *clientproc.Session) (leave func(), err error) {
	leave = func() {}
	var spec Spec
	if err := json.Unmarshal(s.Job(), &spec); err != nil {
		return leave, fmt.Errorf("expected a trial: %w", err)
	}
	t, err := newRunning(spec, nil)
	if err != nil {
		return leave, err
	}
	if err := s.Connect(ctx); err != nil {
		return leave, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var beating sync.WaitGroup
	beats, still := context.WithCancel(ctx)
	beating.Go(func() {
		if err := beat(beats, s.Now, lateness(s)); err != nil && beats.Err() == nil {
			cancel(err)
		}
	})
	world := t.world(nil, s.Healed())
	world.Env, world.Rec, world.Resources = s, s, map[string]workloads.Resource{}
	world.Make = func(int) (locks.Maker, error) { return t.recipe.Bind(s.Locks()) }
	for lock := range t.workload.Resources(spec.Options, t.claims) {
		world.Resources[lock] = s.Resource(lock)
	}
	left, err := t.workload.Client(ctx, world, s.ID())
	still()
	beating.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return func() { left(); cancel(nil) }, err
}

// lateness returns the function that reports this process's stalls to the trial.
func lateness(s *clientproc.Session) func(from, to, late time.Duration) (time.Duration, error) {
	return func(from, to, late time.Duration) (time.Duration, error) {
		longest, err := s.Late(clientproc.Gap{From: from, To: to, Late: late})
		if errors.Is(err, history.ErrSealed) {
			err = nil // the trial is over
		}
		return max(longest, heartbeatLate), err
	}
}
