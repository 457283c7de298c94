package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/testbed/remedy"
	"github.com/lockstorm/lockstorm/workloads"
)

// errTimeLimit is the cancellation cause of a trial that took too long.
var errTimeLimit = errors.New("trial exceeded its time limit")

// realTimer is implemented by testbeds that can say whether their clock is the machine's. On
// virtual time a stall of the machine changes nothing, so no heartbeat runs.
type realTimer interface{ RealTime() bool }

// RealTime says whether a testbed's clock is the machine's: true unless the testbed says otherwise.
func RealTime(tb testbed.Testbed) bool {
	r, ok := tb.(realTimer)
	return !ok || r.RealTime()
}

// realTimeLimit is how long a trial on virtual time may take in real time, even on a slow
// machine. The trial's limit in virtual time is Setup.Limit.
const realTimeLimit = 10 * time.Minute

// Run runs one trial: clients and nemesis side by side for the duration that s asks for;
// then, with all faults healed, the workload's liveness phase and a post-mortem of the
// nodes. Ops go to rec and commands to commands (may be nil) as they happen; the returned
// evidence has them too, even on error.
//
// The error is a failure of the harness. Failures of the recipe are in the evidence only: a
// breakdown of its code is the history's last entry. If something could not be torn down,
// the error wraps a *testbed.TeardownError, whatever the trial's outcome.
//
// The clock of rec must come from tb.Clock, called for this trial. Several trials may run on one tb
// at the same time.
func Run(ctx context.Context, tb testbed.Testbed, s Spec, rec *history.Recorder, commands func(history.Command)) (history.Evidence, error) {
	e, _, err := run(ctx, tb, s, rec, receivers{commands: commands})
	return e, err
}

// run does the work of Run. broken says how the code under test ended the trial; nil = the code did
// not end it.
func run(ctx context.Context, tb testbed.Testbed, s Spec, rec *history.Recorder, to receivers) (e history.Evidence, broken *testbed.Breakdown, err error) {
	t, err := newRunning(s, rec)
	if err != nil {
		return history.Evidence{}, nil, err
	}
	t.watched = RealTime(tb)
	if err := cmp.Or(CheckClients(s.ClientsAs, tb), CheckRemedies(s.Remedies, tb)); err != nil {
		return history.Evidence{}, nil, err
	}
	limit := s.timeLimit(t.claims)
	t.remedies = remedy.New(s.Remedies, s.Options.TTL, rec.Now)
	setup := testbed.Setup{
		Topology:       s.Topology,
		Nodes:          s.Nodes,
		Clients:        s.Options.Clients,
		Durability:     s.Durability,
		Seed:           s.Seed,
		CommandTimeout: s.CommandTimeout,
		SharedLinks:    s.ShareLinks,
		Clock:          rec.Now,
		Logs:           s.Logs,
		Monitor:        s.Monitor,
		Remedies:       t.remedies,
	}
	if !t.watched {
		// A client that exceeds the computed limit is a finding; one that exceeds the
		// user's limit is not.
		s.Timeout = 0
		setup.Limit, limit = s.timeLimit(t.claims), realTimeLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeLimit)
	defer cancel()
	log, keys := commandLog{next: to.commands}, keyLog{rec: rec, next: to.keys}
	setup.Commands = log.add
	if WatchesKeys(tb) {
		setup.Keys, setup.Unseen = keys.add, t.unseen
	}
	err = t.over(tb.Run(ctx, setup, t.body))
	t.processes.end(to.stderr)
	if to.acted != nil {
		to.acted(t.remedies.Acted())
	}
	e = history.Evidence{Ops: rec.Ops(), Commands: log.sorted(), Keys: keys.all, Watched: setup.Keys != nil, Claims: t.claims}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTimeLimit):
		return e, t.broken, fmt.Errorf("%w of %v: %w", errTimeLimit, limit, err)
	case err != nil:
		return e, t.broken, err
	}
	return e, t.broken, rec.Err()
}

// running is the state of one trial while the trial runs.
type running struct {
	spec     Spec
	rec      *history.Recorder
	recipe   locks.Recipe
	workload workloads.Workload
	claims   history.Claims
	remedies *remedy.Trial // nil = none
	watched  bool          // a heartbeat watches the harness
	// processes are those that run code of clients.
	processes processes
	children  []foreign.Child // the clients' processes, in the order of clients; nil = clients are goroutines
	stalls    stalls
	// broken says how the code under test ended the trial; nil = it did not. After a breakdown the
	// other clients fail, too, because the history has ended. Their failures may be reported first.
	broken *testbed.Breakdown
}

// unseen records that changes of a node's keys are not observed from now on.
func (t *running) unseen(node string, why error) {
	_, _ = t.rec.Event(history.Op{
		Process: history.Nemesis, Client: history.NoClient, F: history.FUnseen, Node: node, Error: why.Error(),
	}) // fails only after the history's end, when no judgement needs the event
}

// newRunning prepares a trial: it looks up the names in s.
func newRunning(s Spec, rec *history.Recorder) (*running, error) {
	recipe, err := s.Recipe()
	if err != nil {
		return nil, err
	}
	w, _ := workloads.ByName(s.Workload)
	claims := s.PromisedBy(recipe)
	return &running{spec: s, rec: rec, recipe: recipe, workload: w, claims: claims}, nil
}

// over returns the trial's error, given the error of the testbed's Run. If the code under test
// ended the trial, over records that as the history's last entry, and only teardown errors count.
func (t *running) over(err error) error {
	if t.broken == nil && !errors.As(err, &t.broken) {
		return err
	}
	var left *testbed.TeardownError
	errors.As(err, &left)
	// The trial is over: its clock must not be read any more. So the entry gets the time of the one
	// before.
	if err = t.rec.End(t.broken.Event(), 0); errors.Is(err, history.ErrSealed) {
		t.broken, err = t.firstBroken(), nil
	}
	if left != nil {
		return testbed.JoinErrors(err, left)
	}
	return err
}

// firstBroken returns the breakdown that ended the history. If clients broke down at once,
// t.broken may be a later one.
func (t *running) firstBroken() *testbed.Breakdown {
	ops := t.rec.Ops()
	if len(ops) == 0 || !ops[len(ops)-1].EventKind().Breakdown {
		return t.broken
	}
	last := ops[len(ops)-1]
	return &testbed.Breakdown{Kind: last.F, Detail: last.Error, Stack: t.broken.Stack}
}

// body runs the part of a trial between set-up and teardown. It does not depend on the
// testbed.
func (t *running) body(ctx context.Context, env testbed.Env) error {
	if timeout := t.spec.Timeout; timeout > 0 && !t.watched {
		granted, cancel := context.WithTimeoutCause(ctx, timeout, errTimeLimit)
		defer cancel()
		err := t.run(granted, env)
		if errors.Is(context.Cause(granted), errTimeLimit) {
			return fmt.Errorf("%w of %v", errTimeLimit, timeout)
		}
		return err
	}
	return t.run(ctx, env)
}

// run is body without the user's time limit.
func (t *running) run(ctx context.Context, env testbed.Env) error {
	healed := make(chan struct{})
	if t.outside() {
		if err := t.startClients(env); err != nil {
			return err
		}
	}
	stop := t.watch(ctx)
	err := t.storm(ctx, env, healed)
	if beat := stop(); err == nil {
		err = beat
	}
	if err == nil {
		err = t.postMortem(ctx, env)
	}
	return err
}

// watch starts the heartbeat; the returned function ends it.
func (t *running) watch(ctx context.Context) (stop func() error) {
	if !t.watched {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- heartbeat(ctx, t.rec) }()
	return func() error {
		cancel()
		return <-done
	}
}

// storm runs the clients and the nemesis until the liveness phase is over. In real time clients may need
// seconds to start, which must not use up the faults' time.
func (t *running) storm(ctx context.Context, env testbed.Env, healed chan struct{}) error {
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	begin := sync.OnceFunc(func() { close(ready) })
	if !t.watched {
		begin()
	}
	group.Go(func() error {
		defer begin() // clients may end before all of them were ready
		return t.clients(ctx, env, begin, healed)
	})
	group.Go(func() error {
		select {
		case <-ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := t.disturb(ctx, env); err != nil {
			return err
		}
		defer close(healed)
		_, err := t.rec.Event(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FHealed})
		return err
	})
	return group.Wait()
}

// disturb runs the nemesis. It returns when the duration has passed and every fault is
// healed.
func (t *running) disturb(ctx context.Context, env testbed.Env) error {
	over := time.NewTimer(t.spec.Options.Duration)
	defer over.Stop()
	if err := nemesis.Run(ctx, since(env.Now(), t.spec.Plan), env, t.rec); err != nil {
		return fmt.Errorf("nemesis: %w", err)
	}
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// since shifts a plan's times to the clients' start: the set-up of Redis must not use up a fault's
// time.
func since(start time.Duration, p nemesis.Plan) nemesis.Plan {
	moved := slices.Clone(p)
	for i := range moved {
		moved[i].At += start
		moved[i].By += start
	}
	return moved
}

// postMortem records the remaining keys of each node, if the testbed can inspect nodes.
func (t *running) postMortem(ctx context.Context, env testbed.Env) error {
	nodes, ok := env.(testbed.Inspector)
	if !ok {
		return nil
	}
	for _, node := range nodes.List() {
		op := history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FKeys, Node: node}
		keys, err := nodes.Keys(ctx, node)
		if err != nil {
			op.Error = err.Error() // an unreachable node is evidence too
		}
		op.Keys = keys
		if _, err := t.rec.Event(op); err != nil {
			return err
		}
	}
	return ctx.Err()
}
