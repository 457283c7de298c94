package ports

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// semaphoreGetSet is a bug in the mutex around release_stale_locks! of redis-semaphore 0.3.0
// (Ruby), lib/redis/semaphore.rb: every attempt sends GETSET, which removes the TTL of the key.
var semaphoreGetSet = bug.Bug{
	Name:     "redis-semaphore-getset",
	Title:    "dv/redis-semaphore #23",
	Link:     "https://github.com/dv/redis-semaphore/issues/23",
	FixedIn:  "0.3.1",
	Language: "Ruby",
	Story:    "Every attempt to take the mutex used GETSET, which removes the key's TTL: after another client's attempt, the mutex of a dead holder was locked for ever.",
	Options:  locktest.Options{WallClock: true},
	Before: on(func(rdb *redis.Client) lock {
		acquire := func(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
			if err := rdb.GetSet(ctx, key, "1").Err(); err != redis.Nil {
				return false, err
			}
			return true, rdb.Expire(ctx, key, ttl).Err()
		}
		return lock{acquire: acquire, release: deleteAny(rdb)}
	}),
	After: timed(expiring),
	Fault: "client-crash", Flaw: "liveness by no-expiry, for ever",
	OtherBugsLeft: true,
}

// expiring is the fixed lock: its key has no TTL and holds the end of the lease.
func expiring(rdb *redis.Client, now func() time.Time) lock {
	var ends sync.Map // the end of each lease, by token
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			start, end := now(), now().Add(ttl+time.Second)
			ends.Store(token, end)
			if ok, err := rdb.SetNX(ctx, key, stamp(end), 0).Result(); ok || err != nil {
				return ok, err
			}
			old, err := get(ctx, rdb, key)
			if err != nil || !ended(old, start) {
				return false, err
			}
			was, err := rdb.GetSet(ctx, key, stamp(end)).Result()
			return was == old, ignoreNil(err)
		},
		release: func(ctx context.Context, key, token string) (bool, error) {
			if end, _ := ends.Load(token); !end.(time.Time).After(now().Add(-time.Second)) {
				return false, nil
			}
			return did(rdb.Del(ctx, key).Result())
		},
	}
}
