package ports

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redisobjectsUnits is a bug in Redis::Lock of redis-objects 1.4.2, lib/redis/lock.rb: milliseconds
// are taken for seconds, so that for the time of a thousand leases a holder considers the key its
// own and deletes it at the release.
var redisobjectsUnits = bug.Bug{
	Name:     "redis-objects-units",
	Title:    "nateware/redis-objects #234",
	Link:     "https://github.com/nateware/redis-objects/issues/234",
	FixedIn:  "1.4.3",
	Language: "Ruby",
	Story:    "The end of the lease was computed from milliseconds taken for seconds: for a thousand leases, a holder considered the key its own and deleted it at release.",
	Options:  locktest.Options{WallClock: true},
	Before: timed(func(rdb *redis.Client, now func() time.Time) lock {
		return untilEnd(rdb, now, time.Second/time.Millisecond)
	}),
	After: timed(func(rdb *redis.Client, now func() time.Time) lock { return untilEnd(rdb, now, 1) }),
	Fault: "slow-work", Flaw: "exclusion by foreign-delete",
	OtherBugsLeft: true,
}

// untilEnd is a lock whose release sends DEL only within leases*TTL of the acquire, by the client's
// own clock.
func untilEnd(rdb *redis.Client, now func() time.Time, leases time.Duration) lock {
	var ends sync.Map // by token: until when a release sends DEL
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			ends.Store(token, now().Add(ttl*leases))
			return rdb.SetNX(ctx, key, "", ttl).Result()
		},
		release: func(ctx context.Context, key, token string) (bool, error) {
			if end, _ := ends.Load(token); !end.(time.Time).After(now()) {
				return false, nil
			}
			return did(rdb.Del(ctx, key).Result())
		},
	}
}
