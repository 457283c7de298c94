package invoices_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/redis/go-redis/v9"

	"example.com/invoices"

	"github.com/lockstorm/lockstorm/locktest"
)

func TestBookLock(t *testing.T) {
	locktest.Run(t, func(c *locktest.Client) (locktest.Acquire, error) {
		var nodes []*redis.Client
		for _, addr := range c.Addrs {
			rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: c.Dial})
			c.Cleanup(func() { _ = rdb.Close() })
			nodes = append(nodes, rdb)
		}
		locks := invoices.NewLocks(nodes...)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			l, err := locks.Wait(ctx, key, ttl)
			switch {
			case errors.Is(err, invoices.ErrBusy):
				return locktest.Held{}, locktest.ErrBusy
			case err != nil:
				return locktest.Held{}, err // nobody knows whether it is held
			}
			return locktest.Held{Until: l.Until, Release: func(ctx context.Context) error { return result(l.Unlock(ctx)) }}, nil
		}, nil
	}, locktest.Nodes(3), locktest.Blocking, locktest.Budget(20*time.Second))
}

// result translates redsync's result of a release to an error of locktest.
func result(held bool, err error) error {
	var taken *redsync.ErrTaken
	switch {
	case held:
		return nil
	case err == nil, errors.As(err, &taken):
		return locktest.ErrNotHeld
	}
	return err
}
