// Package workloads is what clients do: they take a lock, touch the resource
// it guards, give the lock back and rest, and record each step as an operation.
//
// Clients are careful, as a good service would be: before each touch they look
// at the lease's deadline and at Lost, and stop when told. A fault can still
// hit between look and touch.
package workloads

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// World is what a workload's body is given.
type World struct {
	Env Env
	// Make binds the recipe under test to a client.
	Make   func(client int) (locks.Maker, error)
	Claims history.Claims
	Opts   Options
	Rec    Recorder
	// Resources are what the locks guard, by the lock's name; nil = the body makes
	// them, as Resources does.
	Resources map[string]Resource
	// Healed is closed when the time for faults is over and every fault is
	// healed: the liveness phase begins.
	Healed <-chan struct{}
}

// Env is what clients see of a testbed.Env.
type Env interface {
	Client(i int) testbed.Client
	// Now is the history's clock.
	Now() time.Duration
}

// Recorder takes down what clients do: a *history.Recorder, whose methods these
// are, or what stands for one in another process.
type Recorder interface {
	Invoke(history.Op) (history.Op, error)
	Complete(history.Op) (history.Op, error)
	Event(history.Op) (history.Op, error)
	End(last history.Op, at time.Duration) error
}

// Workload is one way for clients to use locks.
type Workload struct {
	Name string
	Doc  string // one sentence
	// Suits says whether the workload can put a recipe with these claims on trial.
	Suits func(history.Claims) bool
	// Standard workloads are those that run when none is named.
	Standard bool
	// Like names the faults that do to a lock what clients do here of themselves: what
	// a recipe declares under these may show under any.
	Like []string
	// Locks is how many a client holds at once; 0 = 1.
	Locks int
	// choose adds to a section what only this workload decides, by a number from
	// 0 to 1; nil = nothing.
	choose func(s *Section, o Options, own float64)
	// section is one critical section, the session's current one, on the lock of
	// that name: from the first acquire to the last release.
	section func(*session, string) error
	// pause is how long a client that rests for so long stays away; nil = that long.
	pause func(s *session, rest time.Duration) time.Duration
	// values is the number of registers of the guarded resource.
	values int
	// tallied: the resource counts writes in the last of them.
	tallied bool
	// once: a busy lock is not waited for.
	once bool
	// quits: who waits may give up at any time.
	quits bool
	// late: some writes outlast the lease.
	late bool
}

// all is the registry; a workload is one file and one row.
var all = []Workload{cancel, counter, extend, fencedWrite, handoff, lottery, mutex, readWrite, reentrant, transfer}

// All returns every workload, sorted by name.
func All() []Workload {
	return slices.SortedFunc(slices.Values(all), func(a, b Workload) int { return cmp.Compare(a.Name, b.Name) })
}

// ByName returns the workload of that name.
func ByName(name string) (Workload, bool) {
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}

// Body runs all clients until each has been through the liveness phase, has
// crashed, or ctx ends. It returns an error only if the harness itself failed;
// whatever the lock does goes into the history.
func (w Workload) Body(ctx context.Context, world World) error {
	ids := make([]int, max(0, world.Opts.Clients))
	for id := range ids {
		ids[id] = id
	}
	leave, err := w.run(ctx, world, ids...)
	leave()
	if err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Client is Body for one of the clients, where each has a process of its own. What
// it has begun may go on, on the contexts that it gave to its locks, until leave is
// called: when all other clients, too, have come to their end.
func (w Workload) Client(ctx context.Context, world World, id int) (leave func(), err error) {
	return w.run(ctx, world, id)
}

// run runs these clients. Leave, never nil, ends the contexts on which they ran.
func (w Workload) run(ctx context.Context, world World, ids ...int) (leave func(), err error) {
	r := &run{World: world, workload: w}
	leave = r.leave
	if err := world.Opts.Validate(); err != nil {
		return leave, fmt.Errorf("options: %w", err)
	}
	if r.Resources == nil {
		r.Resources = w.Resources(world.Opts, world.Claims)
	}
	for _, id := range ids {
		s, err := r.session(ctx, id)
		if err != nil {
			return leave, err
		}
		r.sessions = append(r.sessions, s)
	}
	done, finished := context.WithCancel(ctx)
	var clients, watch sync.WaitGroup
	watch.Go(func() { r.watch(done) })
	for _, s := range r.sessions {
		clients.Go(func() {
			if err := s.guard(s.live); err != nil && !stopped(err) {
				r.fail(fmt.Errorf("client %d: %w", s.id, err))
			}
		})
	}
	clients.Wait()
	finished()
	watch.Wait()
	return leave, r.failure
}

// leave ends the clients' contexts.
func (r *run) leave() {
	for _, s := range r.sessions {
		s.stop()
		s.impatient()
	}
}

// apart lies between the moments at which clients start, and at which they are
// told something that concerns all. Were they told at once, they would act in
// the same instant of a virtual clock, in no particular order. The odd
// nanosecond keeps those apart who then wait for round times.
const apart = 10*time.Microsecond + time.Nanosecond

// watch tells clients that the liveness phase began, and when its grace is over.
func (r *run) watch(ctx context.Context) {
	select {
	case <-r.Healed:
	case <-ctx.Done():
		return
	}
	healed := r.Env.Now()
	r.healed.Store(int64(healed))
	for _, s := range r.sessions {
		if pause(ctx, apart) != nil {
			return
		}
		close(s.woken)
	}
	if pause(ctx, healed+r.grace()-r.Env.Now()) != nil {
		return
	}
	for _, s := range r.sessions {
		s.impatient()
		if pause(ctx, apart) != nil {
			return
		}
	}
}

// fail ends the trial, client by client, for the first reason that is given.
func (r *run) fail(err error) {
	r.mu.Lock()
	first := r.failure == nil
	if first {
		r.failure = err
	}
	r.mu.Unlock()
	if !first {
		return
	}
	for _, s := range r.sessions {
		s.stop()
		time.Sleep(apart)
	}
}

// lockName is the name of lock k; the resource it guards has the same name.
func lockName(k int) string { return fmt.Sprintf("lock-%d", k) }

// run is one execution of a workload.
type run struct {
	World
	workload Workload
	sessions []*session
	healed   atomic.Int64 // when the liveness phase began, on the history's clock; 0 = not yet

	mu      sync.Mutex
	failure error // why the trial ended early, if it did
}

// grace is how long after the healing a client keeps trying to get in once:
// what the recipe needs to recover, and the others' turns before its own.
func (r *run) grace() time.Duration {
	o := r.Opts
	recovery := max(r.Claims.Recovery, o.TTL)
	recovery += r.workload.detained(o) // of who was inside when everything was healed
	return recovery + o.Margin + time.Duration(o.Clients)*(3*(o.Hold+o.Retry)/2+o.Margin/10)
}
