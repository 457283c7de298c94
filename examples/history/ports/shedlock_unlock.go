package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// shedlockUnlock is a bug in JedisLockProvider of ShedLock 6.6.1: unlock and extend do not compare
// the token, so they may delete or take over the next holder's key.
var shedlockUnlock = bug.Bug{
	Name:     "shedlock-unlock",
	Title:    "lukas-krecan/ShedLock #2583",
	Link:     "https://github.com/lukas-krecan/ShedLock/issues/2583",
	FixedIn:  "6.7.0",
	Language: "Java",
	Story:    "Unlock was a bare DEL, and extend was a SET XX with a new value: a job whose lease had ended freed or took over the next job's lock.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{
			acquire: setNX(rdb),
			release: func(ctx context.Context, key, _ string) (bool, error) {
				return true, rdb.Del(ctx, key).Err()
			},
			extend: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
				return rdb.SetXX(ctx, key, token+", extended", ttl).Result()
			},
		}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: extendOwn(rdb)}
	}),
	Fault: "none", Flaw: "exclusion by foreign-delete",
}
