package ports

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// servicestackGetSet is a bug in RedisLock of ServiceStack.Redis 4.0.42,
// src/ServiceStack.Redis/RedisLock.cs: if two clients find an expired lease, the one whose GETSET
// comes second gives up, but leaves its value in the key.
var servicestackGetSet = bug.Bug{
	Name:     "servicestack-getset",
	Title:    "ServiceStack/ServiceStack.Redis #215",
	Link:     "https://github.com/ServiceStack/ServiceStack.Redis/pull/215",
	FixedIn:  "4.0.44",
	Language: "C#",
	Story:    "Two clients found an expired lease. The client whose GETSET came second gave up, but its value stayed in the key: the end of a lease that nobody held.",
	Options:  locktest.Options{WallClock: true},
	Before: timed(func(rdb *redis.Client, now func() time.Time) lock {
		return takenOver(rdb, now, func(ctx context.Context, tx *redis.Tx, key, old, end string) (bool, error) {
			was, err := rdb.GetSet(ctx, key, end).Result()
			return was == old, ignoreNil(err)
		})
	}),
	After: timed(func(rdb *redis.Client, now func() time.Time) lock {
		return takenOver(rdb, now, func(ctx context.Context, tx *redis.Tx, key, _, end string) (bool, error) {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, key, end, 0).Err() })
			if errors.Is(err, redis.TxFailedErr) {
				return false, nil
			}
			return err == nil, err
		})
	}),
	Fault: "node-pause", Flaw: "ownership by race",
	OtherBugsLeft: true,
}

// takenOver is a lock whose key holds the end of the lease. If the lease has ended, a client takes
// the lock over by replace, which puts the new end in place of the old one. The release, Dispose,
// deletes the key, whoever owns it.
func takenOver(rdb *redis.Client, now func() time.Time, replace func(ctx context.Context, tx *redis.Tx, key, old, end string) (bool, error)) lock {
	return lock{
		acquire: func(ctx context.Context, key, _ string, ttl time.Duration) (got bool, err error) {
			end := stamp(now().Add(ttl))
			if ok, err := rdb.SetNX(ctx, key, end, 0).Result(); ok || err != nil {
				return ok, err
			}
			err = rdb.Watch(ctx, func(tx *redis.Tx) error {
				old, err := get(ctx, tx, key)
				if err == nil && old != "" && ended(old, now()) {
					got, err = replace(ctx, tx, key, old, end)
				}
				return err
			}, key)
			return got, err
		},
		release: deleteAny(rdb),
	}
}
