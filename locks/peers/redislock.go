package peers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bsm/redislock"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// redislockLock is github.com/bsm/redislock: one script sets the key if it is free or
// already has the token, another compares and deletes. The library renews no lock by
// itself, and does not report when a lease ends.
type redislockLock struct {
	client *redislock.Client
	key    string
	ttl    time.Duration

	mu   sync.Mutex
	held map[string]*redislock.Lock // by token
}

var _ locks.Extender = (*redislockLock)(nil)

func redislockRecipe() locks.Recipe {
	return locks.Recipe{
		ID:       "redislock",
		Summary:  "bsm/redislock: Lua: SET NX PX, or SET PX if it has the token · Lua: compare and delete",
		Topology: locks.Single,
		Claims:   func(ttl time.Duration, _ int) history.Claims { return promises("redislock", ttl) },
		New: perKey(func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
			return &redislockLock{client: redislock.New(c.Nodes[0]), key: key, ttl: ttl, held: map[string]*redislock.Lock{}}, nil
		}),
	}
}

// TryLock implements locks.Lock. After an unknown outcome, the library does not return
// the token.
func (l *redislockLock) TryLock(ctx context.Context) (locks.Lease, error) {
	got, err := l.client.Obtain(ctx, l.key, l.ttl, nil)
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return locks.Lease{}, locks.ErrBusy
	case err != nil:
		return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[got.Token()] = got
	return locks.Lease{Token: got.Token()}, nil
}

// Unlock implements locks.Lock.
func (l *redislockLock) Unlock(ctx context.Context, lease locks.Lease) error {
	l.mu.Lock()
	held := l.held[lease.Token]
	delete(l.held, lease.Token)
	l.mu.Unlock()
	return l.outcome("release", held.Release(ctx))
}

// Extend implements locks.Extender.
func (l *redislockLock) Extend(ctx context.Context, lease locks.Lease) (locks.Lease, error) {
	l.mu.Lock()
	held := l.held[lease.Token]
	l.mu.Unlock()
	if held == nil {
		return lease, locks.ErrNotHeld
	}
	return lease, l.outcome("extend", held.Refresh(ctx, l.ttl, nil))
}

func (l *redislockLock) outcome(what string, err error) error {
	switch {
	case errors.Is(err, redislock.ErrLockNotHeld), errors.Is(err, redislock.ErrNotObtained):
		return locks.ErrNotHeld
	case err != nil:
		return fmt.Errorf("%s %q: %w", what, l.key, err)
	}
	return nil
}
