package ports

import (
	"context"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// springUnlink is a bug in RedisLockRegistry of Spring Integration 6.2.0-M1: unlock compares by GET
// and deletes by UNLINK, so that it can delete the next holder's key.
var springUnlink = bug.Bug{
	Name:     "spring-unlink",
	Title:    "spring-projects/spring-integration #8699",
	Link:     "https://github.com/spring-projects/spring-integration/issues/8699",
	FixedIn:  "6.2.0-M2",
	Language: "Java",
	Story:    "Unlock asked by GET whether the key was its own, and then sent UNLINK: a lease that ended between the two cost the next holder its lock.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: func(ctx context.Context, key, token string) (bool, error) {
			if owner, err := get(ctx, rdb, key); owner != token || err != nil {
				return false, err
			}
			return did(rdb.Unlink(ctx, key).Result())
		}}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb)}
	}),
	Fault: "client-pause", Flaw: "exclusion by foreign-delete",
}
