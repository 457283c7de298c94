package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/locks/peers"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/trial"
)

// settings say how clients use a lock: again and again, and while the lock is busy, they try again.
// The zero value of a field leaves out what the field asks for.
type settings struct {
	Lock     string        // id of the recipe
	Patience time.Duration // how long redlock waits for one node, instead of its usual time
	Nodes    int           // number of nodes, if the recipe needs independent nodes
	Clients  int
	Runs     int // number of runs, each with its own seed; 0 = one run, with the lab's seed
	TTL      time.Duration
	Work     time.Duration // time in the critical section
	Rest     time.Duration // mean pause after the critical section
	Retry    time.Duration // mean interval between two attempts
	Lasts    time.Duration // how long the clients go on
	Timeout  time.Duration // the clients' timeout for a reply, instead of the testbed's own
	Token    string        // the value of all attempts, instead of one that each draws
	Careful  bool          // holders stop at the deadline of their lease, or when the lease is lost
	Hangs    bool          // client 0 never leaves its first critical section

	After     time.Duration // when the following begins, and lasts until the end
	Kill      int           // this number of nodes is killed: n0, n1 and so on
	Cut, Hang int           // as Kill, but cut off from all clients, or paused
	Slow      bool          // answers come late; see slow
	Ahead     time.Duration // client 1's wall clock is ahead

	// Dies lets client 0 die behind the first command of an attempt. After this time, the others begin, try
	// at equal intervals, and hold the lock once. Client 1 pauses for Pauses before its third command.
	Dies, Pauses time.Duration

	Scene string // what the clients do in turn instead; see scene
	D4    string // D4's answers to the scene, by lock: "rw-two-keys +, rw-hash −"
}

// grant is one hold of a client on the lock. Its times are on the history's clock.
type grant struct {
	client    int
	asked     time.Duration // when the first attempt began
	tried     time.Duration // when the successful attempt began
	got, left time.Duration // when the client got the lock, and when it left its critical section
}

// run is a record of one run, from start to end on the history's clock.
type run struct {
	settings
	recipe     locks.Recipe
	commands   []history.Command   // in the nodes' order
	keys       []history.KeyChange // only of testbeds on virtual time
	start, end time.Duration
	grants     []grant // in order of time
	attempts   int
	inVain     []time.Duration // the waits that the end cut short
	processor  float64         // share of a processor that a real server used
	scene      string          // the outcome of the scene
}

// measure makes the runs that s asks for, each in a new world of the testbed.
func measure(ctx context.Context, tb testbed.Testbed, s settings, seed uint64) (figures, error) {
	f := figures{}
	for n := range max(1, s.Runs) {
		u, its := run{settings: s}, seed
		if s.Runs > 0 {
			its = seed<<16 + uint64(n)
		}
		if err := u.make(ctx, tb, its); err != nil {
			return nil, err
		}
		f.add(u.figures())
	}
	return f, nil
}

func (u *run) make(ctx context.Context, tb testbed.Testbed, seed uint64) error {
	known := append(locks.All(), peers.Recipes()...)
	i := slices.IndexFunc(known, func(r locks.Recipe) bool { return r.ID == u.Lock })
	if i < 0 {
		return fmt.Errorf("no recipe %q is registered", u.Lock)
	}
	if u.recipe = known[i]; u.Patience > 0 {
		u.recipe = locks.RedlockWaiting(func(time.Duration) time.Duration { return u.Patience })
	}
	setup := testbed.Setup{
		Topology: testbed.Topology(u.recipe.Topology), Nodes: u.Nodes, Clients: u.Clients, Seed: seed, CommandTimeout: u.Timeout, Clock: tb.Clock(),
		Commands: func(c history.Command) { u.commands = append(u.commands, c) },
	}
	real := trial.RealTime(tb)
	if !real {
		setup.Keys = func(k history.KeyChange) { u.keys = append(u.keys, k) }
	}
	err := tb.Run(ctx, setup, func(ctx context.Context, env testbed.Env) error {
		if u.Scene != "" {
			return u.play(ctx, env)
		}
		return u.use(ctx, env, seed, real)
	})
	history.SortCommands(u.commands)
	slices.SortFunc(u.grants, func(a, b grant) int { return cmp.Or(cmp.Compare(a.got, b.got), cmp.Compare(a.client, b.client)) })
	return err
}

// handle returns client i's handle on the lock.
func (u *run) handle(env testbed.Env, i int) (locks.Lock, error) {
	maker, err := u.recipe.Bind(env.Client(i).Locks())
	if err != nil {
		return nil, err
	}
	return maker("lock-0", u.TTL)
}

// use lets the clients use the lock until the end.
func (u *run) use(ctx context.Context, env testbed.Env, seed uint64, real bool) error {
	first := 0
	if u.Dies > 0 {
		if err := u.die(ctx, env); err != nil {
			return err
		}
		first = 1
		defer env.At(testbed.Point{Client: 1, Step: testbed.StepAcquire, Node: "n0", N: 3, When: testbed.Before}, func(testbed.Hit) { time.Sleep(u.Pauses) })()
	}
	u.start = env.Now()
	u.end = u.start + u.Lasts
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	for i := first; i < u.Clients; i++ {
		all.Go(func() error {
			did, err := u.client(ctx, env, i, rand.New(rand.NewPCG(seed, uint64(i))))
			mu.Lock()
			defer mu.Unlock()
			u.grants, u.inVain, u.attempts = append(u.grants, did.grants...), append(u.inVain, did.inVain...), u.attempts+did.attempts
			return err
		})
	}
	all.Go(func() error { return u.disturb(ctx, env, seed) })
	if real {
		all.Go(func() (err error) {
			u.processor, err = processor(ctx, env, u.Lasts)
			return err
		})
	}
	return all.Wait()
}

// die lets client 0 die at the reply to the first command of an attempt, and waits until others begin.
func (u *run) die(ctx context.Context, env testbed.Env) error {
	defer env.At(testbed.Point{Client: 0, Step: testbed.StepAcquire, Node: "n0", N: 1, When: testbed.Replied}, func(testbed.Hit) {
		_ = env.(testbed.Clients).CrashClient(0) // cannot fail: the client exists and is alive
	})()
	lock, err := u.handle(env, 0)
	if err := errors.Join(err, env.Client(0).Step(ctx, testbed.StepAcquire)); err != nil {
		return err
	}
	if _, err := lock.TryLock(ctx); err == nil {
		return errors.New("the client that was to die behind its first command acquired the lock")
	}
	return testbed.Sleep(ctx, u.Dies)
}

// client uses the lock as client i, and returns a record of what the client did.
func (u *run) client(ctx context.Context, env testbed.Env, i int, r *rand.Rand) (did run, err error) {
	c := env.Client(i)
	l, err := u.handle(env, i)
	if err != nil {
		return did, err
	}
	try := l.TryLock
	if u.Token != "" {
		try = func(ctx context.Context) (locks.Lease, error) { return l.(locks.TokenLocker).TryLockWith(ctx, u.Token) }
	}
	if err := testbed.Sleep(ctx, about(u.Rest+u.Retry, r)); err != nil {
		return did, err
	}
	for env.Now() < u.end {
		g := grant{client: i, asked: env.Now()}
		var lease locks.Lease
		for {
			if err := c.Step(ctx, testbed.StepAcquire); err != nil {
				return did, err
			}
			did.attempts++
			g.tried = env.Now()
			if lease, err = try(ctx); err == nil {
				break
			}
			pause := u.Retry
			if u.Dies == 0 {
				pause = about(u.Retry, r)
			}
			if err := testbed.Sleep(ctx, pause); err != nil {
				return did, err
			}
			if env.Now() >= u.end {
				did.inVain = append(did.inVain, env.Now()-g.asked)
				return did, nil
			}
		}
		g.got = env.Now()
		if err := u.hold(ctx, env, i, lease); err != nil {
			return did, err
		}
		g.left = env.Now()
		did.grants = append(did.grants, g)
		if u.Hangs && i == 0 {
			return did, nil
		}
		_ = l.Unlock(ctx, lease) // the client ignores the outcome
		if u.Dies > 0 {
			return did, nil
		}
		if err := testbed.Sleep(ctx, about(u.Rest, r)); err != nil {
			return did, err
		}
	}
	return did, nil
}

// hold stays in the critical section of client i for as long as the settings say.
func (u *run) hold(ctx context.Context, env testbed.Env, i int, lease locks.Lease) error {
	work, lost := u.Work, (<-chan struct{})(nil)
	if u.Hangs && i == 0 {
		work = max(0, u.end-env.Now())
	}
	if u.Careful {
		if lost = lease.Lost(); !lease.Deadline.IsZero() {
			work = min(work, lease.Deadline.Sub(env.Client(i).Locks().Now()))
		}
	}
	select {
	case <-time.After(work):
	case <-lost:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// play plays a scene on a read-write lock. Scene lists its steps, separated by commas:
//   - "read 0" or "write 2": client 0 tries to read, or client 2 to write; the outcome is "in" or "kept out"
//   - "read! 0" or "write! 2": it tries until it succeeds; the outcome is how long that takes
//   - "leave 0": client 0 gives up the lease, or the failed attempt, of its last step
//   - "apart": two milliseconds pass, so that timestamps differ
//   - "align": a millisecond begins. In the simulation, two attempts fit in it.
//
// u.scene is the outcome of the last step that has one.
func (u *run) play(ctx context.Context, env testbed.Env) error {
	handles, leave := map[int]locks.RWLocker{}, map[int]func() error{}
	for step := range strings.SplitSeq(u.Scene, ", ") {
		var do string
		var client int
		_, _ = fmt.Sscan(step, &do, &client) // "apart" and "align" have no client
		if handles[client] == nil {
			l, err := u.handle(env, client)
			if err != nil {
				return err
			}
			handles[client] = l.(locks.RWLocker)
		}
		lock := handles[client].Read()
		if strings.HasPrefix(do, "write") {
			lock = handles[client].Write()
		}
		var lease locks.Lease
		var err error
		start := time.Now()
		switch do {
		case "read", "write":
			u.scene = "in"
			if lease, err = lock.TryLock(ctx); errors.Is(err, locks.ErrBusy) {
				u.scene, err = "kept out", nil
			}
			leave[client] = func() error { return lock.Unlock(ctx, lease) }
		case "read!", "write!":
			_, err = locks.Wait(ctx, lock, 10*time.Millisecond)
			u.scene = milli(time.Since(start))
		case "leave":
			if err = leave[client](); errors.Is(err, locks.ErrNotHeld) {
				err = nil
			}
		case "apart":
			err = testbed.Sleep(ctx, 2*time.Millisecond)
		case "align":
			err = testbed.Sleep(ctx, start.Truncate(time.Millisecond).Add(time.Millisecond+time.Microsecond).Sub(start))
		default:
			err = fmt.Errorf("no step is called %q", step)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// about returns 0.5 to 1.5 times the mean, in whole microseconds. On the virtual clock, clients act at
// different fractions of a microsecond. Sleeps of whole microseconds keep these fractions, so that no
// two clients act at the same instant.
func about(mean time.Duration, r *rand.Rand) time.Duration {
	return max(time.Microsecond, time.Duration(float64(mean)*(0.5+r.Float64())).Round(time.Microsecond))
}
