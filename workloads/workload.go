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
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// World is the input of a workload's body.
type World struct {
	Env Env
	// Make returns a client's Maker of the recipe under test.
	Make   func(client int) (locks.Maker, error)
	Claims history.Claims
	Opts   Options
	Rec    *history.Recorder
	// Ready is called when every client can ask for locks, before the first of them does; nil = nobody waits for it.
	Ready func()
	// Healed is closed when the time for faults is over and every fault is healed. Then the
	// liveness phase begins.
	Healed <-chan struct{}
	// Remedies are in force in the trial; nil = none.
	Remedies *remedy.Trial
}

// Env is the part of testbed.Env that clients use.
type Env interface {
	Client(i int) testbed.Client
	// Now is the history's clock.
	Now() time.Duration
}

// Workload is one way for clients to use locks.
type Workload struct {
	Name string
	Doc  string // one sentence
	// Suits reports whether the workload can test a recipe with the given claims.
	Suits func(history.Claims) bool
	// Standard workloads run if no workload is named.
	Standard bool
	// Asks restricts a Standard workload to recipes with such claims, unless a user names the
	// workload. nil = all recipes that it suits.
	Asks func(history.Claims) bool
	// Document is the source that describes the workload, by locks.Document.ID; "" = none. If it
	// is set, the workload runs only for recipes of that source, unless a user names the workload.
	Document string
	// Shows are flaws of the clients' program in this workload. A trial must show them under any
	// lock and without a fault. If there are any, the workload runs only undisturbed, unless a
	// user names it.
	Shows []Shown
	// Draws says that each write records a piece of work that is to be done only once, such as the
	// third winner of the seventh round. See history.Claims.Draws.
	Draws bool
	// Like names the faults whose effects this workload has even without those faults. Flaws that
	// a recipe declares under these faults may show under any fault.
	Like []string
	// LikeIn restricts Like to the flaws of one oracle; "" = all oracles.
	LikeIn string
	// Locks is the number of locks that a client holds at once; 0 = 1.
	Locks int
	// Clients is the default number of clients; 0 = the campaign's default.
	Clients int
	// choose makes the decisions that only this workload needs; nil = none. own is a random number
	// from 0 to 1.
	choose func(s *Section, o Options, own float64)
	// body is what the holder does, from the grant to the release. once: the client makes one attempt
	// to acquire the lock, instead of waiting for it.
	body func(*hold) error
	once bool
	// section runs the session's current critical section on the named lock, from the first
	// acquire to the last release; nil = it acquires the lock, runs body and releases the lock.
	section func(*session, string) error
	// pause converts a client's rest to its actual pause; nil = the rest itself.
	pause func(s *session, rest time.Duration) time.Duration
	// values is the number of registers of the guarded resource.
	values int
	// tallied says that the resource counts writes in its last register.
	tallied bool
	// late says that some critical sections last for longer than a lease.
	late bool
}

// Shown is a declared flaw of a workload's program; no lock is to blame for it. Oracle and Cause
// are names in the registries.
type Shown struct{ Oracle, Cause, Why, Source string }

// Declares returns the workload's declared flaw with this oracle and cause, and whether there is
// one.
func (w Workload) Declares(oracle, cause string) (Shown, bool) {
	i := slices.IndexFunc(w.Shows, func(f Shown) bool { return f.Oracle == oracle && f.Cause == cause })
	if i < 0 {
		return Shown{}, false
	}
	return w.Shows[i], true
}

// all is the registry. Each workload has its own file and an entry here.
var all = []Workload{
	cancel, counter, d3TestBasic, d3TestLock, d3TestReentrant, extend, fencedWrite, handoff, lottery, lotteryUnmarked, mutex, readWrite, reentrant, transfer, twoLocks,
}

// All returns every workload, sorted by name.
func All() []Workload {
	return slices.SortedFunc(slices.Values(all), func(a, b Workload) int { return cmp.Compare(a.Name, b.Name) })
}

// ByName returns the workload with this name, and whether there is one.
func ByName(name string) (Workload, bool) {
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return Workload{}, false
	}
	return all[i], true
}

// Body runs all clients until each has finished the liveness phase, crashed or hangs, or ctx ends.
// It returns an error if the harness fails, if the code under test breaks down
// (*testbed.Breakdown), or if ctx ends. The lock's violations go into the history.
func (w Workload) Body(ctx context.Context, world World) error {
	r := &run{World: world, workload: w, resources: w.resources(world.Opts, world.Claims.Fenced || world.Remedies.On(remedy.Fence))}
	defer r.leave()
	if err := world.Opts.Validate(); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	for id := range world.Opts.Clients {
		s, err := r.begin(ctx, id)
		if err != nil {
			return err
		}
		r.sessions = append(r.sessions, s)
	}
	if r.Ready != nil {
		r.Ready()
	}
	done, finished := context.WithCancel(ctx)
	var clients, watch sync.WaitGroup
	watch.Go(func() { r.watch(done) })
	for _, s := range r.sessions {
		clients.Go(func() {
			if err := r.guard(s.id, s.live); err != nil && !stopped(err) {
				r.fail(fmt.Errorf("client %d: %w", s.id, err))
			}
		})
	}
	clients.Wait()
	finished()
	watch.Wait()
	if r.failure != nil {
		return r.failure
	}
	return context.Cause(ctx)
}

// begin makes a client's session. It does so in a goroutine of its own, because the code under
// test may end the goroutine.
func (r *run) begin(ctx context.Context, id int) (s *session, err error) {
	var client sync.WaitGroup
	client.Go(func() {
		err = r.guard(id, func() (err error) {
			s, err = r.session(ctx, id)
			return err
		})
	})
	client.Wait()
	return s, cmp.Or(err, r.failure)
}

// leave ends the clients' contexts, and waits for the watches of clients that hang in their work.
func (r *run) leave() {
	for _, s := range r.sessions {
		s.stop()
		s.impatient()
	}
	r.watches.Wait()
}

// apart is the time between the starts of clients, and between notifications to all clients.
// Without it clients would act at the same instant of a virtual clock, in an undefined order. The
// odd nanosecond keeps clients apart even if they then wait for round times.
const apart = 10*time.Microsecond + time.Nanosecond

// watch notifies clients of the beginning of the liveness phase, and of the end of its
// grace.
func (r *run) watch(ctx context.Context) {
	select {
	case <-r.Healed:
	case <-ctx.Done():
		return
	}
	healed := r.Env.Now()
	r.healed.Store(int64(healed))
	for _, s := range r.sessions {
		if testbed.Sleep(ctx, apart) != nil {
			return
		}
		close(s.woken)
	}
	if testbed.Sleep(ctx, healed+r.grace()-r.Env.Now()) != nil {
		return
	}
	for _, s := range r.sessions {
		s.impatient()
		if testbed.Sleep(ctx, apart) != nil {
			return
		}
	}
}

// fail keeps the first error and then stops all clients, one after another. It ignores later errors.
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

// lockName returns the name of lock k and of its resource.
func lockName(k int) string { return fmt.Sprintf("lock-%d", k) }

// run is the state of one execution of a workload.
type run struct {
	World
	workload Workload
	sessions []*session
	// resources are the guarded resources, by the lock's name.
	resources map[string]*resource
	healed    atomic.Int64 // start of the liveness phase on the history's clock; 0 = not yet

	watches sync.WaitGroup // the watches of all clients' holds

	mu      sync.Mutex
	failure error // why the run failed; nil = it did not
}

// grace returns how long after the healing a client tries to acquire each lock once: the recipe's
// recovery time, Options.Margin, and a turn for each client.
func (r *run) grace() time.Duration {
	o := r.Opts
	recovery := max(r.Claims.Recovery, o.TTL)
	recovery += r.workload.detained(o) // for clients in a critical section at the healing
	return recovery + o.Margin + time.Duration(o.Clients)*(3*(o.Hold+o.Retry)/2+o.Margin/10)
}
