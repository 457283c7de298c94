package ports

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// redispyWatch is a bug in Lock.release of redis-py 2.10.6, redis/lock.py: the release sends WATCH
// but no MULTI, so that its DEL may free the next holder's lock.
var redispyWatch = bug.Bug{
	Name:     "redis-py-watch",
	Title:    "redis/redis-py #1031",
	Link:     "https://github.com/redis/redis-py/pull/1031",
	FixedIn:  "3.0.0",
	Language: "Python",
	Story:    "Release watched the key, compared and deleted it, but sent no MULTI, so the WATCH had no effect: if the lease ended before the DEL, the DEL freed the next holder's lock.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: watchThenDelete(rdb)}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb)}
	}),
	Fault: "client-pause", Flaw: "exclusion by foreign-delete",
}

func watchThenDelete(rdb *redis.Client) func(context.Context, string, string) (bool, error) {
	return func(ctx context.Context, key, token string) (deleted bool, err error) {
		err = rdb.Watch(ctx, func(tx *redis.Tx) error {
			if owner, err := get(ctx, tx, key); owner != token || err != nil {
				return err
			}
			deleted, err = did(tx.Del(ctx, key).Result()) // no MULTI: it runs at once
			return err
		}, key)
		return deleted, err
	}
}
