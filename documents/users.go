package documents

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/internal/sleep"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// users are clients that take one lock again and again. While the lock is busy, they try again.
type users struct {
	recipe  locks.Recipe
	nodes   int // number of nodes, if the recipe needs independent nodes
	clients int
	seed    uint64
	ttl     time.Duration
	work    time.Duration // time in the critical section
	rest    time.Duration // mean pause after the critical section
	retry   time.Duration // mean interval between two attempts
	lasts   time.Duration // how long the users go on
	timeout time.Duration // the clients' timeout for a reply; 0 = the testbed's own
	// meanwhile runs while the users use the lock; nil = nothing runs.
	meanwhile func(context.Context, testbed.Env) error
	// hangs is the number of the client that never leaves its first critical section, from 1; 0 =
	// none.
	hangs int
	// careful says that holders stop at the deadline of their lease, or when the lease is lost.
	careful bool
}

// grant is one hold of a client on the lock. Its times are on the history's clock.
type grant struct {
	client    int
	asked     time.Duration // when the first attempt began
	tried     time.Duration // when the successful attempt began
	got, left time.Duration // when the client got the lock, and when it left its critical section
	attempts  int
}

// usage is a record of what the users did, from start to end on the history's clock.
type usage struct {
	wire
	start, end time.Duration
	grants     []grant // in order of time
	attempts   int
	// inVain are the waits that the end cut short: how long each client had tried until then.
	inVain []time.Duration
}

// use lets the users use their lock, and returns a record of it.
func (l lab) use(ctx context.Context, u users) (usage, error) {
	s := testbed.Setup{Topology: testbed.Topology(u.recipe.Topology), Clients: u.clients, Seed: u.seed, CommandTimeout: u.timeout}
	if s.Topology == testbed.Independent {
		s.Nodes = u.nodes
	}
	var mu sync.Mutex
	var used usage
	w, err := l.world(ctx, s, func(ctx context.Context, env testbed.Env) error {
		used.start = env.Now()
		used.end = used.start + u.lasts
		var all []func(context.Context) error
		for i := range u.clients {
			all = append(all, func(ctx context.Context) error {
				one, err := u.client(ctx, env, i, used.end)
				mu.Lock()
				defer mu.Unlock()
				used.grants = append(used.grants, one.grants...)
				used.inVain = append(used.inVain, one.inVain...)
				used.attempts += one.attempts
				return err
			})
		}
		if u.meanwhile != nil {
			all = append(all, func(ctx context.Context) error { return u.meanwhile(ctx, env) })
		}
		return side(ctx, all...)
	})
	used.wire = w
	slices.SortFunc(used.grants, func(a, b grant) int { return cmp.Or(cmp.Compare(a.got, b.got), cmp.Compare(a.client, b.client)) })
	return used, err
}

// client runs user i until the time end, and returns a record of what this user did.
func (u users) client(ctx context.Context, env testbed.Env, i int, end time.Duration) (did usage, err error) {
	c := env.Client(i)
	l, err := handle(u.recipe, c, u.ttl)
	if err != nil {
		return did, err
	}
	r := rand.New(rand.NewPCG(u.seed, uint64(i)))
	if err := sleep.For(ctx, about(u.rest+u.retry, r)); err != nil {
		return did, err
	}
	for env.Now() < end {
		g, lease, err := u.enter(ctx, env, i, l, r, end)
		did.attempts += g.attempts
		switch {
		case err != nil:
			return did, err
		case g.got == 0:
			did.inVain = append(did.inVain, env.Now()-g.asked)
			return did, nil
		}
		work := u.work
		if u.hangs == i+1 {
			work = max(0, end-env.Now())
		}
		if err := u.at(ctx, work, lease, c); err != nil {
			return did, err
		}
		g.left = env.Now()
		did.grants = append(did.grants, g)
		if u.hangs == i+1 {
			return did, nil
		}
		_ = l.Unlock(ctx, lease) // the user ignores the outcome
		if err := sleep.For(ctx, about(u.rest, r)); err != nil {
			return did, err
		}
	}
	return did, nil
}

// at works in the critical section for the given time. A careful holder stops earlier if its lease
// ends or is lost.
func (u users) at(ctx context.Context, work time.Duration, lease locks.Lease, c testbed.Client) error {
	if !u.careful {
		return sleep.For(ctx, work)
	}
	if !lease.Deadline.IsZero() {
		work = min(work, lease.Deadline.Sub(c.Locks().Now()))
	}
	t := time.NewTimer(work)
	defer t.Stop()
	select {
	case <-t.C:
	case <-lease.Lost():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// enter tries to acquire the lock until it succeeds or the time end has come. Without success, the
// returned grant has got = 0.
func (u users) enter(ctx context.Context, env testbed.Env, i int, l locks.Lock, r *rand.Rand, end time.Duration) (grant, locks.Lease, error) {
	g := grant{client: i, asked: env.Now()}
	for {
		g.attempts++
		g.tried = env.Now()
		lease, err := l.TryLock(ctx)
		if err == nil {
			g.got = env.Now()
			return g, lease, nil
		}
		if err := sleep.For(ctx, about(u.retry, r)); err != nil {
			return g, lease, err
		}
		if env.Now() >= end {
			return g, lease, nil
		}
	}
}

// about returns 0.5 to 1.5 times the mean, in whole microseconds. On the virtual clock, clients act at
// different fractions of a microsecond. Sleeps of whole microseconds keep these fractions, so that no
// two clients act at the same instant.
func about(mean time.Duration, r *rand.Rand) time.Duration {
	return max(time.Microsecond, time.Duration(float64(mean)*(0.5+r.Float64())).Round(time.Microsecond))
}

// waits returns the wait for each grant, from the first attempt on.
func (u usage) waits() []time.Duration {
	var waits []time.Duration
	for _, g := range u.grants {
		waits = append(waits, g.got-g.asked)
	}
	return waits
}

// overlaps counts the grants that came while another client was still in its critical section.
func (u usage) overlaps() int {
	n := 0
	for i, g := range u.grants {
		if slices.ContainsFunc(u.grants[:i], func(f grant) bool { return f.left > g.got }) {
			n++
		}
	}
	return n
}

// between counts the grants at from or later, but before to.
func (u usage) between(from, to time.Duration) int {
	n := 0
	for _, g := range u.grants {
		if g.got >= from && g.got < to {
			n++
		}
	}
	return n
}

// ran counts the commands that a node executed and that were sent while the users used the lock.
func (u usage) ran() int {
	n := 0
	for _, c := range u.commands {
		if c.N > 0 && c.Exec > 0 && c.Sent >= u.start && c.Sent < u.end {
			n++
		}
	}
	return n
}
