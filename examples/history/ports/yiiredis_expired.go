package ports

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// yiiredisExpired is a bug in ARedisMutex of YiiRedis, ARedisMutex.php: a client that finds an
// expired lease takes the lock without writing to Redis, so several clients may take it at once.
var yiiredisExpired = bug.Bug{
	Name:     "yiiredis-expired",
	Title:    "phpnode/YiiRedis #18",
	Link:     "https://github.com/phpnode/YiiRedis/pull/18",
	FixedIn:  "613e969",
	Language: "PHP",
	Story:    "A client that found an expired lease took the lock without writing anything to Redis: after a holder died, all clients that asked got in together.",
	Options:  locktest.Options{WallClock: true},
	Before:   timed(func(rdb *redis.Client, now func() time.Time) lock { return arMutex(rdb, now, false) }),
	After:    timed(func(rdb *redis.Client, now func() time.Time) lock { return arMutex(rdb, now, true) }),
	Fault:    "client-crash", Flaw: "exclusion by race",
	OtherBugsLeft: true,
}

// arMutex is a lock whose key holds the end of the lease. If replace is set, a client replaces an
// expired value by GETSET.
func arMutex(rdb *redis.Client, now func() time.Time, replace bool) lock {
	var ends sync.Map // the end of each lease, by token
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			end := stamp(now().Add(ttl))
			ends.Store(token, end)
			if ok, err := rdb.SetNX(ctx, key, end, 0).Result(); ok || err != nil {
				return ok, err
			}
			old, err := get(ctx, rdb, key)
			if err != nil || !ended(old, now()) {
				return false, err
			}
			if !replace {
				return true, nil
			}
			was, err := rdb.GetSet(ctx, key, end).Result()
			return was == old, ignoreNil(err)
		},
		release: func(ctx context.Context, key, token string) (bool, error) {
			value, err := get(ctx, rdb, key)
			if own, _ := ends.Load(token); err != nil || value < own.(string) && !ended(value, now()) {
				return false, err
			}
			return did(rdb.Del(ctx, key).Result())
		},
	}
}
