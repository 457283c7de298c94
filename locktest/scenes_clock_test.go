package locktest_test

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// untilByWallClock is a correct lock with a deadline on the client's wall clock.
func untilByWallClock(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := right(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		asked := c.Now()
		held, err := acquire(ctx, key, ttl)
		held.Until = func() time.Time { return asked.Add(ttl - time.Second) }
		return held, err
	}, err
}

// untilBesideWallClock is a correct lock with a deadline on the monotonic clock. It reads the wall clock
// too, as for a log.
func untilBesideWallClock(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := until(0)(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		c.Now()
		return acquire(ctx, key, ttl)
	}, err
}

// takeEnded takes the lock unless the key's value, the end of the present lease, is later than
// ARGV[1], the caller's time. ARGV[2] is the end of the new lease, ARGV[3] its length. Times are in
// milliseconds.
var takeEnded = redis.NewScript(`
local ends = tonumber(redis.call('get', KEYS[1]) or '0')
if ends > tonumber(ARGV[1]) then
  return 0
end
redis.call('set', KEYS[1], ARGV[2], 'PX', 10 * ARGV[3])
return 1`)

// byWallClock has a mistake: each client decides by its own wall clock whether another client's
// lease is over.
func byWallClock(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		now := c.Now()
		ends := strconv.FormatInt(now.Add(ttl).UnixMilli(), 10)
		got, err := takeEnded.Run(ctx, rdb, []string{key}, now.UnixMilli(), ends, ttl.Milliseconds()).Int64()
		if err == nil && got == 0 {
			err = locktest.ErrBusy
		}
		return locktest.Held{Token: rand.Text(), Release: func(ctx context.Context) error {
			return released(compareAndDelete.Run(ctx, rdb, []string{key}, ends).Int64())
		}}, err
	}, nil
}
