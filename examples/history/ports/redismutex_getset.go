package ports

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redismutexGetSet is a bug in Redis::Mutex of redis-mutex 2.1.0, lib/redis/mutex.rb: a client
// whose SETNX failed takes a missing key for an expired lease, and its GETSET may overwrite the
// value of a client that has just acquired the lock.
var redismutexGetSet = bug.Bug{
	Name:     "redis-mutex-getset",
	Title:    "kenn/redis-mutex #6",
	Link:     "https://github.com/kenn/redis-mutex/pull/6",
	FixedIn:  "2.1.1",
	Language: "Ruby",
	Story:    "A client's SETNX failed, the holder released the lock, and the client's GET found no key. The client took the missing key for an expired lease: its GETSET overwrote the value of a third client that had taken the lock, and the third client could no longer unlock. This takes three clients within two commands, and no named schedule does that.",
	Options:  locktest.Options{WallClock: true},
	Before:   timed(func(rdb *redis.Client, now func() time.Time) lock { return mutex(rdb, now, false) }),
	After:    timed(func(rdb *redis.Client, now func() time.Time) lock { return mutex(rdb, now, true) }),
}

// mutex is a lock whose key holds the end of the lease. The parameter again is the fix: if the key is
// gone after a failed SETNX, the client repeats the SETNX.
func mutex(rdb *redis.Client, now func() time.Time, again bool) lock {
	var ends sync.Map // the end of each lease, by token
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			start := now()
			end := stamp(start.Add(ttl))
			ends.Store(token, end)
			for {
				if ok, err := rdb.SetNX(ctx, key, end, 0).Result(); ok || err != nil {
					return ok, err
				}
				old, err := get(ctx, rdb, key)
				if err != nil {
					return false, err
				}
				if old == "" && again {
					continue
				}
				if !ended(old, start) {
					return false, nil
				}
				old, err = rdb.GetSet(ctx, key, end).Result()
				return ended(old, start), ignoreNil(err)
			}
		},
		release: func(ctx context.Context, key, token string) (bool, error) {
			own, _ := ends.Load(token)
			return getThenDelete(rdb)(ctx, key, own.(string))
		},
	}
}
