package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// laravelExpire is a bug in RedisLock of Laravel 6.11, src/Illuminate/Cache/RedisLock.php: a
// process that dies between SETNX and EXPIRE leaves the lock locked for ever.
var laravelExpire = bug.Bug{
	Name:     "laravel-expire",
	Title:    "laravel/framework #31166",
	Link:     "https://github.com/laravel/framework/issues/31166",
	FixedIn:  "6.12.0",
	Language: "PHP",
	Story:    "The key was set by SETNX and got its TTL by EXPIRE: a process that died between them left the lock locked for ever.",
	Before: on(func(rdb *redis.Client) lock {
		acquire := func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			ok, err := rdb.SetNX(ctx, key, token, 0).Result()
			if ok && err == nil {
				err = rdb.Expire(ctx, key, ttl).Err()
			}
			return ok, err
		}
		return lock{acquire: acquire, release: deleteOwn(rdb)}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb)}
	}),
	Fault: "client-crash", Flaw: "liveness by no-expiry, for ever",
}
