package orders_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"example.com/orders"

	"github.com/lockstorm/lockstorm/locktest"
)

func TestOrderLock(t *testing.T) {
	locktest.Run(t, func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial, ReadTimeout: time.Second, MaxRetries: 1})
		c.Cleanup(func() { _ = rdb.Close() })
		locks := orders.NewLocks(rdb)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			l, err := locks.Obtain(ctx, key, ttl)
			if err != nil {
				return locktest.Held{}, result(err)
			}
			return locktest.Held{
				Token:   l.Token(),
				Release: func(ctx context.Context) error { return result(l.Release(ctx)) },
				Extend:  func(ctx context.Context) error { return notHeld(l.Prolong(ctx)) },
			}, nil
		}, nil
	})
}

// result translates the library's errors of Obtain and Release to those of locktest.
func result(err error) error {
	switch {
	case errors.Is(err, redislock.ErrNotObtained):
		return locktest.ErrBusy
	case errors.Is(err, redislock.ErrLockNotHeld):
		return locktest.ErrNotHeld
	}
	return err
}

// notHeld translates the library's errors of Refresh to those of locktest. Refresh returns
// ErrNotObtained for a lock that is no longer held.
func notHeld(err error) error {
	if errors.Is(err, redislock.ErrNotObtained) {
		return locktest.ErrNotHeld
	}
	return err
}
