// Package seatstest adapts package seats to Lockstorm: go test and the command line share one
// adapter.
package seatstest

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/custom-main/seats"

	"github.com/lockstorm/lockstorm/locktest"
)

// Lock is the lock under test: a locktest.Subject.
func Lock(c *locktest.Client) (locktest.Acquire, error) {
	rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
	c.Cleanup(func() { _ = rdb.Close() })
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		l, err := seats.Reserve(ctx, rdb, key, ttl)
		switch {
		case errors.Is(err, seats.ErrTaken):
			return locktest.Held{}, locktest.ErrBusy
		case err != nil:
			return locktest.Held{}, err // nobody knows whether it is held
		}
		return locktest.Held{Until: l.Until, Release: func(ctx context.Context) error {
			err := l.Release(ctx)
			if errors.Is(err, seats.ErrExpired) {
				return locktest.ErrNotHeld
			}
			return err
		}}, nil
	}, nil
}
