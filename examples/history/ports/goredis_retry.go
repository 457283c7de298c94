package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// goredisRetry is SETNX as r3c, a C++ client, sent it. go-redis does the same unless MaxRetries is
// -1 (redis/go-redis #2985).
var goredisRetry = bug.Bug{
	Name:     "r3c-retry",
	Title:    "eyjian/r3c #17",
	Link:     "https://github.com/eyjian/r3c/pull/17",
	FixedIn:  "#17",
	Language: "C++",
	Story:    "A SETNX whose reply was lost was sent again by the client library, and then said that the lock was taken: by the caller itself (as go-redis does, redis/go-redis #2985). Either way the key keeps all out until it expires, which a lost reply does to any lease.",
	Before:   retried(3),
	After:    retried(-1),
}

func retried(retries int) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial, MaxRetries: retries})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			return acquired(ctx, lock{acquire: setNX(rdb), release: deleteOwn(rdb)}, c, key, ttl)
		}, nil
	}
}
