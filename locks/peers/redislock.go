package peers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

const redislockModule = "github.com/bsm/redislock"

// redislockVariant is a way to use redislock. The functions are nil for the default: one key, no
// options, the testbed's client. There is no variant with metadata: metadata is a part of the key's
// value, and the library's decisions do not depend on it, except that a Lock with other metadata
// counts as another owner's.
type redislockVariant struct {
	id, summary string
	keys        func(key string) []string
	options     func(ttl time.Duration) *redislock.Options
	client      func(c *locks.Client) redislock.RedisClient
	flaws       []locks.Flaw
	blocks      bool // the lock waits by the library's own retries
}

const redislockSummary = "Lua: SET NX PX, or SET PX if it has the token · Lua: compare and delete · on demand Lua: compare and PEXPIRE"

var redislockVariants = []redislockVariant{
	{id: "redislock", summary: "bsm/redislock: " + redislockSummary},
	{id: "redislock-retry", summary: "bsm/redislock, LinearBackoff(TTL/10): " + redislockSummary, blocks: true,
		options: func(ttl time.Duration) *redislock.Options {
			return &redislock.Options{RetryStrategy: redislock.LinearBackoff(ttl / 10)}
		}},
	{id: "redislock-multi", summary: "bsm/redislock, ObtainMulti on two keys: " + redislockSummary,
		keys: func(key string) []string { return []string{key + ":a", key + ":b"} }},
	{id: "redislock-default-client", summary: "bsm/redislock on go-redis as it comes, which retries: " + redislockSummary,
		client: func(c *locks.Client) redislock.RedisClient { return defaultClient(c) },
		flaws: measured("lease-outlived",
			"The library looks at no clock and go-redis waits up to 5 s for each of four answers: an answer that comes after the key has expired counts as a grant.",
			"https://pkg.go.dev/"+redislockModule, []string{"delay"}, "exclusion", "resource")},
}

func redislockRecipes() []locks.Recipe {
	var all []locks.Recipe
	for _, v := range redislockVariants {
		all = append(all, v.recipe())
	}
	return all
}

// recipe returns the variant as a recipe. The documentation claims "simplified distributed locking",
// that Obtain returns ErrNotObtained if the lock is taken, and that Refresh "extends the lock with a
// new TTL". It does not claim that a holder learns of the end of its lease.
func (v redislockVariant) recipe() locks.Recipe {
	return library(locks.Recipe{ID: v.id, Library: redislockModule, Summary: v.summary, Flaws: append(locks.Limits(locks.Known{}), v.flaws...)},
		func(c *history.Claims, _ int) { c.Extends = true }, v.lock)
}

// defaultClient returns a Redis client with go-redis's default options, such as three retries and a
// timeout of 5 s. The Redis client closes when the client process ends.
func defaultClient(c *locks.Client) *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
	context.AfterFunc(c.Context, func() { _ = client.Close() }) // nobody is left to receive the error
	return client
}

// redislockLock is bsm/redislock. One script sets the keys if they are free or already have the
// token; another script compares and deletes. The library renews no lock by itself, and does not
// report the end of a lease.
type redislockLock struct {
	client  *redislock.Client
	keys    []string
	ttl     time.Duration
	options redislock.Options
	held    sync.Map // of *redislock.Lock, by token
}

var (
	_ locks.Extender    = (*redislockLock)(nil)
	_ locks.TokenLocker = (*redislockLock)(nil)
	_ locks.Blocker     = redislockRetries{}
)

// redislockRetries is a redislockLock that waits with the library's own retries.
type redislockRetries struct{ *redislockLock }

func (v redislockVariant) lock(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
	l := &redislockLock{keys: []string{key}, ttl: ttl}
	if v.keys != nil {
		l.keys = v.keys(key)
	}
	if v.options != nil {
		l.options = *v.options(ttl)
	}
	var client redislock.RedisClient = c.Nodes[0]
	if v.client != nil {
		client = v.client(c)
	}
	l.client = redislock.New(client)
	if v.blocks {
		return redislockRetries{l}, nil
	}
	return l, nil
}

// TryLock implements locks.Lock. After an unknown outcome the lease has no token, because the
// library does not tell which token it sent.
func (l *redislockLock) TryLock(ctx context.Context) (locks.Lease, error) {
	return l.obtain(ctx, &redislock.Options{})
}

// TryLockWith implements locks.TokenLocker with Options.Token.
func (l *redislockLock) TryLockWith(ctx context.Context, token string) (locks.Lease, error) {
	return l.obtain(ctx, &redislock.Options{Token: token})
}

// Lock implements locks.Blocker with the library's retry strategy. If ctx has no deadline, the
// library gives up after one TTL.
func (l redislockRetries) Lock(ctx context.Context) (locks.Lease, error) {
	return l.obtain(ctx, &l.options)
}

// obtain calls ObtainMulti once. ErrNotObtained is certain even if the context has ended: the node
// refused the last attempt.
func (l *redislockLock) obtain(ctx context.Context, options *redislock.Options) (locks.Lease, error) {
	got, err := l.client.ObtainMulti(ctx, l.keys, l.ttl, options)
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return locks.Lease{Token: options.Token}, fmt.Errorf("%w: %w", locks.ErrBusy, err)
	case err != nil:
		return locks.Lease{Token: options.Token}, fmt.Errorf("acquire %q: %w", l.keys, err)
	}
	l.held.Store(got.Token(), got)
	return locks.Lease{Token: got.Token()}, nil
}

// Unlock implements locks.Lock.
func (l *redislockLock) Unlock(ctx context.Context, lease locks.Lease) error {
	kept, _ := l.held.LoadAndDelete(lease.Token)
	held, _ := kept.(*redislock.Lock)
	return l.outcome("release", held.Release(ctx)) // Release of a nil Lock returns ErrLockNotHeld
}

// Extend implements locks.Extender.
func (l *redislockLock) Extend(ctx context.Context, lease locks.Lease) (locks.Lease, error) {
	kept, _ := l.held.Load(lease.Token)
	held, _ := kept.(*redislock.Lock)
	return lease, l.outcome("extend", held.Refresh(ctx, l.ttl, nil))
}

// outcome maps the library's error of a release or an extension; what is the verb for the error's text.
func (l *redislockLock) outcome(what string, err error) error {
	switch {
	case errors.Is(err, redislock.ErrLockNotHeld), errors.Is(err, redislock.ErrNotObtained):
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("%s %q: %w", what, l.keys, err)
	}
	return nil
}
