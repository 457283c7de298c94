package redigolock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redigolock"

	"github.com/lockstorm/lockstorm/locktest"
)

func TestJobLock(t *testing.T) {
	locktest.Run(t, func(c *locktest.Client) (locktest.Acquire, error) {
		pool := &redis.Pool{MaxIdle: 2, DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "tcp", c.Addrs[0], redis.DialContextFunc(c.Dial),
				redis.DialReadTimeout(time.Second), redis.DialWriteTimeout(time.Second))
		}}
		c.Cleanup(func() { _ = pool.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			l, err := redigolock.Acquire(ctx, pool, key, ttl)
			switch {
			case errors.Is(err, redigolock.ErrRunning):
				return locktest.Held{}, locktest.ErrBusy
			case err != nil:
				return locktest.Held{}, err // nobody knows whether it is held
			}
			return locktest.Held{
				Release: func(ctx context.Context) error { return lost(l.Release(ctx)) },
				Extend:  func(ctx context.Context) error { return lost(l.Extend(ctx, ttl)) },
			}, nil
		}, nil
	})
}

// lost translates ErrLost to locktest.ErrNotHeld.
func lost(err error) error {
	if errors.Is(err, redigolock.ErrLost) {
		return locktest.ErrNotHeld
	}
	return err
}
