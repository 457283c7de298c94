package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// usage is a record of one run, from start to end on the history's clock.
type usage struct {
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

// lab is the place where an experiment runs: a testbed and a seed.
type lab struct {
	tb   testbed.Testbed
	seed uint64
}

func (l lab) real() bool { return trial.RealTime(l.tb) }

// runs returns a record of each run that s asks for.
func (l lab) runs(ctx context.Context, s settings) (all []usage, err error) {
	for n := range max(1, s.Runs) {
		seed := l.seed
		if s.Runs > 0 {
			seed = l.seed<<16 + uint64(n)
		}
		u, err := l.run(ctx, s, seed)
		if err != nil {
			return nil, err
		}
		all = append(all, u)
	}
	return all, nil
}

// run makes one run in a new world of the testbed.
func (l lab) run(ctx context.Context, s settings, seed uint64) (u usage, err error) {
	u.settings = s
	known := append(locks.All(), peers.Recipes()...)
	i := slices.IndexFunc(known, func(r locks.Recipe) bool { return r.ID == s.Lock })
	if i < 0 {
		return u, fmt.Errorf("no recipe %q is registered", s.Lock)
	}
	if u.recipe = known[i]; s.Patience > 0 {
		u.recipe = locks.RedlockWaiting(func(time.Duration) time.Duration { return s.Patience })
	}
	setup := testbed.Setup{
		Topology: testbed.Topology(u.recipe.Topology), Nodes: s.Nodes, Clients: s.Clients, Seed: seed, CommandTimeout: s.Timeout, Clock: l.tb.Clock(),
		Commands: func(c history.Command) { u.commands = append(u.commands, c) },
	}
	if !l.real() {
		setup.Keys = func(k history.KeyChange) { u.keys = append(u.keys, k) }
	}
	err = l.tb.Run(ctx, setup, func(ctx context.Context, env testbed.Env) error {
		if s.Scene != "" {
			return u.play(ctx, env)
		}
		return u.use(ctx, env, seed, l.real())
	})
	history.SortCommands(u.commands)
	slices.SortFunc(u.grants, func(a, b grant) int { return cmp.Or(cmp.Compare(a.got, b.got), cmp.Compare(a.client, b.client)) })
	return u, err
}

// handle returns client i's handle on the lock.
func (u *usage) handle(env testbed.Env, i int) (locks.Lock, error) {
	maker, err := u.recipe.Bind(env.Client(i).Locks())
	if err != nil {
		return nil, err
	}
	return maker("lock-0", u.TTL)
}

// use lets the clients use the lock until the end.
func (u *usage) use(ctx context.Context, env testbed.Env, seed uint64, real bool) error {
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
func (u *usage) die(ctx context.Context, env testbed.Env) error {
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
func (u *usage) client(ctx context.Context, env testbed.Env, i int, r *rand.Rand) (did usage, err error) {
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
		work, lost := u.Work, (<-chan struct{})(nil)
		if u.Hangs && i == 0 {
			work = max(0, u.end-env.Now())
		}
		if u.Careful {
			if lost = lease.Lost(); !lease.Deadline.IsZero() {
				work = min(work, lease.Deadline.Sub(c.Locks().Now()))
			}
		}
		select {
		case <-time.After(work):
		case <-lost:
		case <-ctx.Done():
			return did, ctx.Err()
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

// about returns 0.5 to 1.5 times the mean, in whole microseconds. On the virtual clock, clients act at
// different fractions of a microsecond. Sleeps of whole microseconds keep these fractions, so that no
// two clients act at the same instant.
func about(mean time.Duration, r *rand.Rand) time.Duration {
	return max(time.Microsecond, time.Duration(float64(mean)*(0.5+r.Float64())).Round(time.Microsecond))
}
