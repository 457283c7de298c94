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
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Options are the dials of a workload. All durations are real time of the
// trial's clock.
type Options struct {
	Clients int `json:"clients"` // concurrent client processes, at least 1
	Keys    int `json:"keys"`    // locks that clients choose from, at least 1
	// TTL is the lease time asked of the recipe.
	TTL time.Duration `json:"ttl"`
	// Hold is how long, in the mean, a critical section works between its touches
	// of the resource; each draws its own time, 0.5 to 1.5 times as long. Equal
	// holds would hide what only shows when the first to come is the last to go.
	Hold time.Duration `json:"hold"`
	// Rest is the mean pause between two critical sections of a client.
	Rest time.Duration `json:"rest"`
	// Retry is the mean interval at which a busy lock is tried again; each wait
	// draws its own, 0.5 to 1.5 times as long.
	Retry time.Duration `json:"retry"`
	// Duration is how long faults may be injected, before the liveness phase.
	Duration time.Duration `json:"duration"`
	// Margin is added to the recovery time that the liveness phase grants.
	Margin time.Duration `json:"margin"`
	// Overrun is the share of critical sections, 0 to 1, that work for 1.5 TTL.
	Overrun float64 `json:"overrun,omitempty"`
	// Trusting clients look neither at the deadline nor at Lost.
	Trusting bool `json:"trusting,omitempty"`
	// Seed of every choice that clients make, at most 1<<53 so that JSON keeps it.
	Seed uint64 `json:"seed"`
	// Script lists, by client, the critical sections that it goes through before
	// the liveness phase, which it then waits for; nil = what Workload.Decide says,
	// without an end.
	Script [][]Section `json:"script,omitempty"`
}

// Section is what a client decides about one critical section, as data.
type Section struct {
	Lock  int           `json:"lock,omitempty"`  // which of the locks, from 0
	Mode  history.Mode  `json:"mode,omitempty"`  // of a read-write lock
	Depth int           `json:"depth,omitempty"` // how often a reentrant lock is acquired; 0 = once
	Retry time.Duration `json:"retry"`           // between two attempts to get in
	Hold  time.Duration `json:"hold"`            // of work between two touches of the resource
	Rest  time.Duration `json:"rest"`            // afterwards
}

// World is what a workload's body is given.
type World struct {
	Env testbed.Env
	// Make binds the recipe under test to a client.
	Make   func(client int) (locks.Maker, error)
	Claims history.Claims
	Opts   Options
	Rec    *history.Recorder
	// Healed is closed when the time for faults is over and every fault is
	// healed: the liveness phase begins.
	Healed <-chan struct{}
}

// Workload is one way for clients to use locks.
type Workload struct {
	Name string
	Doc  string // one sentence
	// Suits says whether the workload can put a recipe with these claims on trial.
	Suits func(history.Claims) bool
	// section is one critical section: from the first acquire to the last release.
	section func(*session, string) error
	// values is the number of registers of the guarded resource.
	values int
}

// all is the registry; a workload is one file and one row.
var all = []Workload{mutex, readWrite, reentrant}

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
	r := &run{World: world, workload: w, resources: map[string]*resource{}}
	for k := range world.Opts.Keys {
		r.resources[lockName(k)] = &resource{values: make([]int64, w.values)}
	}
	for i := range world.Opts.Clients {
		s, err := r.session(ctx, i)
		if err != nil {
			return err
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
	for _, s := range r.sessions {
		s.stop()
		s.impatient()
	}
	if r.failure != nil {
		return r.failure
	}
	return context.Cause(ctx)
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
	r.healed.Store(int64(r.Env.Now()))
	if pause(ctx, r.grace()) != nil {
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
	workload  Workload
	resources map[string]*resource
	sessions  []*session   // by client
	healed    atomic.Int64 // when the liveness phase began, on the history's clock; 0 = not yet

	mu      sync.Mutex
	failure error // why the trial ended early, if it did
}

// grace is how long after the healing a client keeps trying to get in once:
// what the recipe needs to recover, and the others' turns before its own.
func (r *run) grace() time.Duration {
	o := r.Opts
	recovery := max(r.Claims.Recovery, r.Claims.KeyTTL, o.TTL)
	if o.Overrun > 0 {
		recovery += o.TTL * 3 / 2 // of who was inside when everything was healed
	}
	return recovery + o.Margin + time.Duration(o.Clients)*(3*(o.Hold+o.Retry)/2+o.Margin/10)
}

// session is one client at work. It is used by one goroutine.
type session struct {
	*run
	ctx  context.Context
	stop context.CancelFunc // ends ctx
	// patience ends with the grace of the liveness phase; only recipes that
	// wait in their own way need to be told.
	patience  context.Context
	impatient context.CancelFunc // ends patience

	id      int
	client  testbed.Client
	process history.Process
	rng     *rand.Rand
	handles map[string]locks.Lock
	// entered is when the last acquire succeeded, on the history's clock.
	entered time.Duration
}

// errGiveUp ends waiting for a lock that did not come within the grace of the
// liveness phase.
var errGiveUp = errors.New("not acquired within the liveness phase")

// stopped says whether err is an ordinary end of a client: a crash, or the
// trial's end.
func stopped(err error) bool {
	return errors.Is(err, testbed.ErrCrashed) || errors.Is(err, history.ErrSealed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, errGiveUp)
}

func (r *run) session(ctx context.Context, id int) (*session, error) {
	client := r.Env.Client(id)
	maker, err := r.Make(id)
	if err != nil {
		return nil, fmt.Errorf("client %d: bind the recipe: %w", id, err)
	}
	s := &session{
		run: r, id: id, client: client,
		process: history.Process(id),
		rng:     rand.New(rand.NewPCG(r.Opts.Seed, uint64(id))),
		handles: map[string]locks.Lock{},
	}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.patience, s.impatient = context.WithCancel(s.ctx)
	for k := range r.Opts.Keys {
		if s.handles[lockName(k)], err = maker(lockName(k), r.Opts.TTL); err != nil {
			return nil, fmt.Errorf("client %d: make %s: %w", id, lockName(k), err)
		}
	}
	return s, nil
}

// guard turns a panic of the code under test into a *testbed.Breakdown, with
// which the history ends. A panic in a goroutine that a recipe started cannot be
// caught.
func (s *session) guard(do func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		b := &testbed.Breakdown{
			Kind:   history.FPanic,
			Detail: testbed.OneLine(fmt.Sprintf("client %d: recipe %s panicked: %v%s", s.id, s.Claims.Lock, p, culprit())),
			Stack:  string(debug.Stack()),
		}
		err = b
		if rerr := s.Rec.End(b.Event(), s.Rec.Now()); rerr != nil && !errors.Is(rerr, history.ErrSealed) {
			err = errors.Join(err, rerr)
		}
	}()
	return do()
}

// culprit says where the panic that is being recovered arose.
func culprit() string {
	calls := make([]uintptr, 32)
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls)])
	for panicked := false; ; {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicked && !inRuntime {
			return fmt.Sprintf(" (in %s, %s:%d)", f.Function, filepath.Base(f.File), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}

// live is a client's life: critical sections until everything is healed, then
// until it got in once more on each lock, or for the grace.
func (s *session) live() error {
	if err := pause(s.ctx, time.Duration(s.id+1)*apart); err != nil {
		return err
	}
	for {
		healed := time.Duration(s.healed.Load())
		if healed > 0 && s.entered > healed && s.Opts.Keys == 1 {
			return nil
		}
		if healed > 0 {
			return s.comeBack(healed)
		}
		if err := s.workload.section(s, lockName(s.rng.IntN(s.Opts.Keys))); err != nil {
			return err
		}
		if err := s.rest(); err != nil {
			return err
		}
	}
}

// comeBack is the liveness phase of one client: once through every lock.
func (s *session) comeBack(healed time.Duration) error {
	for k := range s.Opts.Keys {
		for s.entered = 0; s.entered <= healed; {
			err := s.workload.section(s, lockName(k))
			if errors.Is(err, errGiveUp) {
				break // this lock is blocked; the others still count
			}
			if err != nil {
				return err
			}
			if s.entered > healed || s.tired() {
				break
			}
			if err := s.sleep(s.Opts.Retry); err != nil {
				return err
			}
		}
	}
	return nil
}

// rest is the pause between critical sections, 0.5 to 1.5 times the mean.
func (s *session) rest() error {
	if err := s.client.Step(s.ctx, testbed.StepRest); err != nil {
		return err
	}
	return s.sleep(s.about(s.Opts.Rest))
}

// about draws a duration, 0.5 to 1.5 times the mean.
func (s *session) about(mean time.Duration) time.Duration {
	return time.Duration(float64(mean) * (0.5 + s.rng.Float64())).Round(time.Microsecond)
}

func (s *session) sleep(d time.Duration) error { return pause(s.ctx, d.Round(time.Microsecond)) }

// pause waits for d, or until ctx ends, which is its error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tired says whether the liveness phase's patience is at its end.
func (s *session) tired() bool {
	healed := time.Duration(s.healed.Load())
	return healed > 0 && s.Env.Now() > healed+s.grace()
}
