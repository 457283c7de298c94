package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// redispyTTL is a bug in LuaLock.do_acquire of redis-py, redis/lock.py, in December 2014 (never
// released): a lock with a timeout is set without a TTL.
var redispyTTL = bug.Bug{
	Name:     "redis-py-ttl",
	Title:    "redis/redis-py 2139d81",
	Link:     "https://github.com/redis/redis-py/commit/2139d817",
	FixedIn:  "08d37bd",
	Language: "Python",
	Story:    "A script rewritten for SET NX PX had its two branches exchanged: a lock with a timeout was set without a TTL, and stayed for ever when its holder died.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: func(ctx context.Context, key, token string, _ time.Duration) (bool, error) {
			return rdb.SetNX(ctx, key, token, 0).Result()
		}, release: deleteOwn(rdb)}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb)}
	}),
	Fault: "client-crash", Flaw: "liveness by no-expiry, for ever",
}
