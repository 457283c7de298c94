package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// cozyRenewal is a bug in LongOperation of cozy-stack 1.5.8, pkg/lock: the renewal of the lease is
// a SETNX, which fails while the lock is held.
var cozyRenewal = bug.Bug{
	Name:     "cozy-renewal",
	Title:    "linagora/cozy-stack ea395f8",
	Link:     "https://github.com/linagora/cozy-stack/commit/ea395f86b",
	FixedIn:  "1.6.0",
	Language: "Go",
	Story:    "The lock of a long operation renewed itself by taking the lock once more, by SETNX, which fails while the lock is held: the lease ran out under its holder.",
	Options:  locktest.Options{Renews: true},
	Before:   on(func(rdb *redis.Client) lock { return longOperation(rdb, setNX(rdb)) }),
	After:    on(func(rdb *redis.Client) lock { return longOperation(rdb, extendOwn(rdb)) }),
	Fault:    "none", Flaw: "exclusion by renewal-failed",
	OtherBugsLeft: true,
}

// longOperation is a lock that renews its lease three times in each lease, and goes on if a renewal
// fails.
func longOperation(rdb *redis.Client, renew func(context.Context, string, string, time.Duration) (bool, error)) lock {
	return lock{
		acquire: setNX(rdb), release: deleteOwn(rdb),
		watch: func(ctx context.Context, key, token string, ttl time.Duration, _ func()) func() {
			return every(ctx, ttl/3, true, func(ctx context.Context) bool {
				_, _ = renew(ctx, key, token, ttl)
				return true
			})
		},
	}
}
