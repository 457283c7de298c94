package paylock_test

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/paylock"

	"github.com/lockstorm/lockstorm/locktest"
)

// go test passes; go test -first finds the mistake in the first version of the lock.
var first = flag.Bool("first", false, "test the lock as it was first written")

func TestPaymentLock(t *testing.T) {
	locktest.Run(t, func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			l, err := paylock.Obtain(ctx, rdb, key, ttl)
			switch {
			case errors.Is(err, paylock.ErrTaken):
				return locktest.Held{}, locktest.ErrBusy
			case err != nil:
				return locktest.Held{}, err // nobody knows whether it is held
			case !*first:
				l = l.Mended()
			}
			return locktest.Held{Release: func(ctx context.Context) error {
				err := l.Release(ctx)
				if errors.Is(err, paylock.ErrExpired) {
					return locktest.ErrNotHeld
				}
				return err
			}}, nil
		}, nil
	})
}
