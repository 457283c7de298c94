package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// goredisRetry is a bug in r3c, a C++ client: if the reply to SETNX is lost, r3c sends SETNX again,
// and the second reply says that the lock is taken, by the caller itself. go-redis does the same
// unless MaxRetries is -1 (redis/go-redis #2985).
var goredisRetry = bug.Bug{
	Name:     "r3c-retry",
	Title:    "eyjian/r3c #17",
	Link:     "https://github.com/eyjian/r3c/pull/17",
	FixedIn:  "#17",
	Language: "C++",
	Story:    "When the reply to SETNX was lost, the client library sent SETNX again, and the second reply said that the lock was taken: the caller itself had taken it. (go-redis does the same, redis/go-redis #2985.) In both versions the key keeps all clients out until it expires, as after a lost reply in any lease.",
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
