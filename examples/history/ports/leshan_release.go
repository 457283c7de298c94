package ports

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// leshanRelease is a bug in RedisLock of Eclipse Leshan 1.0.0: the release compares by GET and
// deletes by DEL, so that it can delete the next holder's key.
var leshanRelease = bug.Bug{
	Name:     "leshan-release",
	Title:    "eclipse-leshan/leshan #837",
	Link:     "https://github.com/eclipse-leshan/leshan/pull/837",
	FixedIn:  "1.0.1",
	Language: "Java",
	Story:    "Release compared by GET and deleted by DEL. The fix watches the key and deletes it in a transaction.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: getThenDelete(rdb)}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: watchAndDelete(rdb)}
	}),
	Fault: "client-pause", Flaw: "exclusion by foreign-delete",
}

func watchAndDelete(rdb *redis.Client) func(context.Context, string, string) (bool, error) {
	return func(ctx context.Context, key, token string) (deleted bool, err error) {
		err = rdb.Watch(ctx, func(tx *redis.Tx) error {
			if owner, err := get(ctx, tx, key); owner != token || err != nil {
				return err
			}
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, key).Err() })
			deleted = err == nil
			return err
		}, key)
		if errors.Is(err, redis.TxFailedErr) {
			return false, nil // somebody else changed the key
		}
		return deleted, err
	}
}
