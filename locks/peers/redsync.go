package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	client "github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

const redsyncModule = "github.com/go-redsync/redsync/v4"

// redsyncVariant is a way to configure redsync. There is no variant with shuffled pools: redsync asks
// all pools at once, so shuffling changes only the order in which it starts their goroutines.
type redsyncVariant struct {
	suffix  string
	what    string
	options func(ttl time.Duration) []redsync.Option
	flaws   []locks.Flaw
	// blocks: the lock waits with the library's own retries.
	blocks bool
	// patient: an acquire waits for the nodes' answers as long as the lease lasts.
	patient bool
}

var redsyncVariants = []redsyncVariant{
	{suffix: "", what: ""},
	{suffix: "-tries", what: ", WithTries(32), WithRetryDelay(TTL/10)", blocks: true, options: func(ttl time.Duration) []redsync.Option {
		return []redsync.Option{redsync.WithTries(32), redsync.WithRetryDelay(ttl / 10)}
	}},
	{suffix: "-failfast", what: ", WithFailFast", options: func(time.Duration) []redsync.Option {
		return []redsync.Option{redsync.WithFailFast(true)}
	}},
	{suffix: "-setnx-extend", what: ", WithSetNXOnExtend", options: func(time.Duration) []redsync.Option {
		return []redsync.Option{redsync.WithSetNXOnExtend()}
	}, flaws: measured("lease-outlived",
		"An extension takes the lock anew if its key is gone: it succeeds although another had the lock since.",
		"https://pkg.go.dev/"+redsyncModule+"#WithSetNXOnExtend",
		[]string{"none", "client-pause", "slow-work", "delay", "lost-reply", "partition", "node-pause", "node-restart"}, "extension")},
	{suffix: "-no-drift", what: ", WithDriftFactor(0)", options: func(time.Duration) []redsync.Option {
		return []redsync.Option{redsync.WithDriftFactor(0)}
	}},
	{suffix: "-patient", what: ", WithTimeoutFactor(1)", patient: true, options: func(time.Duration) []redsync.Option {
		return []redsync.Option{redsync.WithTimeoutFactor(1)}
	}},
}

// redsyncRecipes returns redsync with each configuration, first on one node, as most projects use
// it, then on independent nodes.
func redsyncRecipes() []locks.Recipe {
	var all []locks.Recipe
	for _, v := range redsyncVariants {
		all = append(all, v.recipe("redsync", locks.Single,
			"on one node: SET NX PX · Lua: compare and delete · on demand Lua: compare and PEXPIRE"))
	}
	for _, v := range redsyncVariants {
		all = append(all, v.recipe("redsync-quorum", locks.Independent,
			"SET NX PX on all nodes at once, held by N/2+1 for TTL - elapsed - TTL/100 · Lua: compare and delete on all · on demand Lua: compare and PEXPIRE on all"))
	}
	return all
}

// recipe returns the variant on a topology as a recipe.
//
// The documentation claims "a distributed mutual exclusion lock" that is valid until Until, and
// that Extend "resets the mutex's expiry".
func (v redsyncVariant) recipe(id string, on locks.Topology, summary string) locks.Recipe {
	return library(locks.Recipe{
		ID:       id + v.suffix,
		Library:  redsyncModule,
		Summary:  "go-redsync/redsync v4" + v.what + ": " + summary,
		Topology: on,
		Flaws:    append(locks.Limits(locks.Known{Deadlines: true}), v.flaws...),
	}, func(c *history.Claims, nodes int) {
		c.Extends = true
		if !v.patient {
			c.Timeout = c.TTL / 20 // the library's default timeout factor
		}
		if on == locks.Independent {
			c.Quorum = nodes/2 + 1
		}
	}, v.lock)
}

// redsyncLock is redsync. By default, an acquire asks all nodes at once and waits for them up to a
// twentieth of the lease; a release or an extension has no such limit. The deadline is the end of the
// lease, less a hundredth of the lease for clock drift. Each call has its own Mutex, since a Mutex is
// not safe for concurrent use.
//
// Without a majority the library tries to release its grants and then returns an error. On several
// nodes the lock is then not acquired, even if some nodes have its key. On one node, an error of
// Redis leaves the outcome unknown: the node may have granted the lock.
type redsyncLock struct {
	sync    *redsync.Redsync
	nodes   int
	key     string
	options []redsync.Option
}

var (
	_ locks.Extender    = (*redsyncLock)(nil)
	_ locks.TokenLocker = (*redsyncLock)(nil)
	_ locks.Blocker     = redsyncTries{}
)

// redsyncTries is a redsyncLock that waits with the library's own retries.
type redsyncTries struct{ *redsyncLock }

func (v redsyncVariant) lock(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
	var pools []redis.Pool
	for _, n := range c.Nodes {
		pools = append(pools, goredis.NewPool(n.(client.UniversalClient)))
	}
	options := []redsync.Option{redsync.WithExpiry(ttl)}
	if v.options != nil {
		options = append(options, v.options(ttl)...)
	}
	l := &redsyncLock{sync: redsync.New(pools...), nodes: len(pools), key: key, options: options}
	if v.blocks {
		return redsyncTries{l}, nil
	}
	return l, nil
}

// mutex returns a Mutex with the handle's options and one more option.
func (l *redsyncLock) mutex(option redsync.Option) *redsync.Mutex {
	return l.sync.NewMutex(l.key, append(l.options[:len(l.options):len(l.options)], option)...)
}

// TryLock implements locks.Lock.
func (l *redsyncLock) TryLock(ctx context.Context) (locks.Lease, error) {
	return l.acquired(ctx, l.mutex(redsync.WithValue("")), (*redsync.Mutex).TryLockContext)
}

// TryLockWith implements locks.TokenLocker with the library's WithGenValueFunc.
func (l *redsyncLock) TryLockWith(ctx context.Context, token string) (locks.Lease, error) {
	named := redsync.WithGenValueFunc(func() (string, error) { return token, nil })
	return l.acquired(ctx, l.mutex(named), (*redsync.Mutex).TryLockContext)
}

// Lock implements locks.Blocker with the library's own retries. After the last retry Lock returns
// ErrBusy.
func (l redsyncTries) Lock(ctx context.Context) (locks.Lease, error) {
	return l.acquired(ctx, l.mutex(redsync.WithValue("")), (*redsync.Mutex).LockContext)
}

// acquired calls lock on the Mutex and maps its result. After an error the outcome counts as unknown
// if ctx has ended.
func (l *redsyncLock) acquired(ctx context.Context, m *redsync.Mutex, lock func(*redsync.Mutex, context.Context) error) (locks.Lease, error) {
	err := lock(m, ctx)
	var silent *redsync.RedisError
	switch {
	case err == nil:
		return l.lease(m), nil
	case ctx.Err() != nil, l.nodes == 1 && errors.As(err, &silent):
		return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	return locks.Lease{}, fmt.Errorf("%w: %w", locks.ErrBusy, err)
}

// lease returns the mutex's lease. The library reads time.Now, so the deadline is an instant on the
// monotonic clock.
func (l *redsyncLock) lease(m *redsync.Mutex) locks.Lease {
	return locks.Lease{Token: m.Value(), Deadline: m.Until(), Monotonic: true}
}

// Unlock implements locks.Lock. ErrNotHeld: so many nodes did not have the token that no majority can
// have had it.
func (l *redsyncLock) Unlock(ctx context.Context, held locks.Lease) error {
	ok, err := l.mutex(redsync.WithValue(held.Token)).UnlockContext(ctx)
	return l.outcome("release", ok, err)
}

// Extend implements locks.Extender. ErrNotHeld means the same as for Unlock.
func (l *redsyncLock) Extend(ctx context.Context, held locks.Lease) (locks.Lease, error) {
	m := l.mutex(redsync.WithValue(held.Token))
	ok, err := m.ExtendContext(ctx)
	if err := l.outcome("extend", ok, err); err != nil {
		return held, err
	}
	return l.lease(m), nil
}

// outcome maps the library's result of a release or an extension. If the replies to an extension
// arrive too late (ErrExtendFailed), the outcome is unknown: the keys live on.
func (l *redsyncLock) outcome(what string, ok bool, err error) error {
	var taken *redsync.ErrTaken
	var silent *redsync.RedisError
	switch {
	case ok:
		return nil
	case errors.As(err, &taken):
		return locks.ErrNotHeld
	case errors.As(err, &silent), errors.Is(err, redsync.ErrExtendFailed):
		return fmt.Errorf("%s %q: %w", what, l.key, err)
	}
	return locks.ErrNotHeld
}
