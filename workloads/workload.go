// Package workloads defines what clients do: they take a lock, touch the resource it
// guards, give the lock back and rest, and record each step as an operation.
//
// Clients are careful, like a good service: before each touch they check the lease's
// deadline and Lost, and stop if the lease is over. A fault can still hit between check
// and touch.
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

// World is the input of a workload's body.
type World struct {
	Env Env
	// Make binds the recipe under test to a client.
	Make   func(client int) (locks.Maker, error)
	Claims history.Claims
	Opts   Options
	Rec    Recorder
	// Resources are the guarded resources, by the lock's name; nil = the body makes
	// them with Resources.
	Resources map[string]Resource
	// Healed is closed when the time for faults is over and every fault is healed: the
	// liveness phase begins.
	Healed <-chan struct{}
}

// Env is the part of testbed.Env that clients use.
type Env interface {
	Client(i int) testbed.Client
	// Now is the history's clock.
	Now() time.Duration
}

// Recorder records what clients do: a *history.Recorder, or its stand-in in another
// process.
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
	// Suits says whether the workload can test a recipe with these claims.
	Suits func(history.Claims) bool
	// Standard workloads are those that run when none is named.
	Standard bool
	// Like names the faults whose effects this workload's clients have by themselves:
	// what a recipe declares under these may show under any fault.
	Like []string
	// Locks is how many a client holds at once; 0 = 1.
	Locks int
	// choose makes the decisions specific to this workload, by a number from 0 to 1;
	// nil = none.
	choose func(s *Section, o Options, own float64)
	// section runs the session's current critical section on the lock of that name,
	// from the first acquire to the last release.
	section func(*session, string) error
	// pause converts a client's rest into the time it stays away; nil = the rest
	// itself.
	pause func(s *session, rest time.Duration) time.Duration
	// values is the number of registers of the guarded resource.
	values int
	// tallied: the resource counts writes in its last register.
	tallied bool
	// once: clients do not wait for a busy lock.
	once bool
	// quits: a waiting client may give up at any time.
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

// Body runs all clients until each has finished the liveness phase or crashed, or ctx
// ends. It returns an error only if the harness itself failed; the lock's faults go
// into the history.
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

// Client is Body for one client, where each has a process of its own. The client's
// background work, on the contexts that it gave to its locks, may go on until leave is
// called: after all other clients have ended, too.
func (w Workload) Client(ctx context.Context, world World, id int) (leave func(), err error) {
	return w.run(ctx, world, id)
}

// run runs these clients. Leave, never nil, ends their contexts.
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

// apart is the time between the starts of clients, and between telling them something
// that concerns all. Otherwise they would act in the same instant of a virtual clock,
// in no particular order. The odd nanosecond keeps them apart even if they then wait
// for round times.
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

// fail ends the trial, client by client; the first reason counts.
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

// grace is how long after the healing a client keeps trying to get in once: the
// recipe's recovery time, and the other clients' turns.
func (r *run) grace() time.Duration {
	o := r.Opts
	recovery := max(r.Claims.Recovery, o.TTL)
	recovery += r.workload.detained(o) // for clients that were inside when everything was healed
	return recovery + o.Margin + time.Duration(o.Clients)*(3*(o.Hold+o.Retry)/2+o.Margin/10)
}
