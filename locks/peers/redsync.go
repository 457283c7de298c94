package peers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// redsyncLock is github.com/go-redsync/redsync/v4 with its defaults: it asks all nodes
// at once and waits for each up to a twentieth of the lease; it claims the rest of the
// lease, less a hundredth. Each attempt has a Mutex of its own, since a Mutex is not
// safe for several goroutines.
//
// Without a majority the library reports that, or that a node did not answer; it has
// tried to release what it got, and relies on nothing. So every error means that the
// lock was not acquired: ErrBusy.
type redsyncLock struct {
	client *locks.Client
	sync   *redsync.Redsync
	key    string
	ttl    time.Duration
}

var _ locks.Extender = (*redsyncLock)(nil)

// redsyncOnOne is redsync as most projects use it, on one node.
func redsyncOnOne() locks.Recipe {
	return locks.Recipe{
		ID:       "redsync",
		Summary:  "go-redsync/redsync v4 on one node: SETNX PX · Lua: compare and delete",
		Topology: locks.Single,
		Claims:   func(ttl time.Duration, _ int) history.Claims { return promises("redsync", ttl) },
		New:      perKey(newRedsync),
	}
}

// redsyncQuorum is redsync on independent nodes.
func redsyncQuorum() locks.Recipe {
	return locks.Recipe{
		ID:       "redsync-quorum",
		Summary:  "go-redsync/redsync v4: SETNX PX on all nodes at once, held by N/2+1 for TTL - elapsed - TTL/100 · Lua: compare and delete on all",
		Topology: locks.Independent,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			c := promises("redsync-quorum", ttl)
			c.Quorum = nodes/2 + 1
			return c
		},
		New: perKey(newRedsync),
	}
}

func newRedsync(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
	var pools []redis.Pool
	for _, n := range c.Nodes {
		pools = append(pools, goredis.NewPool(n))
	}
	return &redsyncLock{client: c, sync: redsync.New(pools...), key: key, ttl: ttl}, nil
}

// mutex returns the Mutex that holds the lock under that value; "" = none yet.
func (l *redsyncLock) mutex(value string) *redsync.Mutex {
	return l.sync.NewMutex(l.key, redsync.WithExpiry(l.ttl), redsync.WithValue(value))
}

// TryLock implements locks.Lock. The library reads time.Now, which no step of the wall
// clock affects: so a timer ends the lease, whatever the client's wall clock shows.
func (l *redsyncLock) TryLock(ctx context.Context) (locks.Lease, error) {
	m := l.mutex("")
	if err := m.TryLockContext(ctx); err != nil {
		if ctx.Err() != nil {
			return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
		}
		return locks.Lease{}, fmt.Errorf("%w: %w", locks.ErrBusy, err)
	}
	return l.lease(m), nil
}

// lease is the mutex's lease from now on.
func (l *redsyncLock) lease(m *redsync.Mutex) locks.Lease {
	now, lost := l.client.Now(), make(chan struct{})
	left := time.Until(m.Until())
	time.AfterFunc(left, func() { close(lost) })
	return locks.Lease{Token: m.Value(), Deadline: now.Add(left), LostC: lost}
}

// Unlock implements locks.Lock. ErrNotHeld: every node answered, and too few had it.
func (l *redsyncLock) Unlock(ctx context.Context, held locks.Lease) error {
	ok, err := l.mutex(held.Token).UnlockContext(ctx)
	return l.outcome("release", ok, err)
}

// Extend implements locks.Extender. ErrNotHeld is as for Unlock.
func (l *redsyncLock) Extend(ctx context.Context, held locks.Lease) (locks.Lease, error) {
	m := l.mutex(held.Token)
	ok, err := m.ExtendContext(ctx)
	if err := l.outcome("extend", ok, err); err != nil {
		return held, err
	}
	return l.lease(m), nil
}

// outcome maps the library's result for a lock that was held.
func (l *redsyncLock) outcome(what string, ok bool, err error) error {
	var taken *redsync.ErrTaken
	var silent *redsync.RedisError
	switch {
	case ok:
		return nil
	case errors.As(err, &taken), !errors.As(err, &silent):
		return locks.ErrNotHeld
	}
	return fmt.Errorf("%s %q: %w", what, l.key, err)
}
