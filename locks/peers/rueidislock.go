package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// rueidislockLock is github.com/redis/rueidis/rueidislock on one key of one node: SET
// NX with an absolute expiry, PXAT. A goroutine of the library extends it every half
// lease, or at once when the node reports a change of the key (client-side caching).
// The release compares and deletes. The library has a Redis client of its own.
//
// The library reports the loss of a lock, but not the result of a release.
type rueidislockLock struct {
	locker rueidislock.Locker
	key    string
	// process is the client process's context: a lock of this library ends with the
	// context of its acquisition.
	process context.Context

	mu     sync.Mutex
	giveUp map[<-chan struct{}]context.CancelFunc // by the channel that is closed when the lock is lost
}

func rueidislockRecipe() locks.Recipe {
	return locks.Recipe{
		ID:       "rueidislock",
		Summary:  "redis/rueidis rueidislock with a majority of one key: Lua: SET NX PXAT · every TTL/2 Lua: compare and PEXPIREAT · Lua: compare and delete",
		Topology: locks.Single,
		Claims: func(ttl time.Duration, _ int) history.Claims {
			c := promises("rueidislock", ttl)
			c.Renews = true
			return c
		},
		New: perKey(newRueidislock),
	}
}

func newRueidislock(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: c.Addrs[:1],
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return c.Dial(ctx, "tcp", addr)
			},
			// Otherwise the library first looks for a cluster.
			ForceSingleClient: true,
		},
		KeyValidity: ttl,
		KeyMajority: 1,
	})
	if err != nil {
		return nil, fmt.Errorf("make a locker: %w", err)
	}
	context.AfterFunc(c.Context, locker.Close)
	return &rueidislockLock{locker: locker, key: key, process: c.Context, giveUp: map[<-chan struct{}]context.CancelFunc{}}, nil
}

// TryLock implements locks.Lock. The library chooses how long it waits for an answer:
// its context is the lock's, and must outlive the call.
func (l *rueidislockLock) TryLock(context.Context) (locks.Lease, error) {
	ctx, giveUp, err := l.locker.TryWithContext(l.process, l.key)
	switch {
	case errors.Is(err, rueidislock.ErrNotLocked):
		return locks.Lease{}, locks.ErrBusy
	case err != nil:
		return locks.Lease{}, fmt.Errorf("acquire %q: %w", l.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUp[ctx.Done()] = giveUp
	return locks.Lease{LostC: ctx.Done()}, nil
}

// Unlock implements locks.Lock. Nil says that the library has tried to release the
// lock; ErrNotHeld, that the library had lost it before.
func (l *rueidislockLock) Unlock(_ context.Context, held locks.Lease) error {
	l.mu.Lock()
	giveUp := l.giveUp[held.LostC]
	delete(l.giveUp, held.LostC)
	l.mu.Unlock()
	lost := false
	select {
	case <-held.LostC:
		lost = true
	default:
	}
	if giveUp != nil {
		giveUp()
	}
	if lost || giveUp == nil {
		return locks.ErrNotHeld
	}
	return nil
}
