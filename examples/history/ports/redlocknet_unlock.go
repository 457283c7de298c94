package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redlocknetUnlock is a bug in RedLock of RedLock.net 2.2.0, RedLockNet.SERedis/RedLock.cs: an
// extension that runs during the release sets the key again, so that the released lock comes back.
// This port has one node.
var redlocknetUnlock = bug.Bug{
	Name:     "redlock-net-unlock",
	Title:    "samcook/RedLock.net #64",
	Link:     "https://github.com/samcook/RedLock.net/pull/64",
	FixedIn:  "2.3.0",
	Language: "C#",
	Story:    "The timer that extends the lease could run at the same time as Dispose, and the script that extends also sets a missing key: a released lock came back. The timer has to fire during a release, and holders seldom work for just half a lease. One of two runs of this suite showed the bug, under `eviction`, when the timer and the release came at the same instant; the same trial did not show it again.",
	Varies:   true,
	Options:  locktest.Options{Renews: true},
	Before:   on(func(rdb *redis.Client) lock { return keptAlive(rdb, false) }),
	After:    on(func(rdb *redis.Client) lock { return keptAlive(rdb, true) }),
}

// keptAlive extends its lease whenever half of the lease is over. Release stops the extensions, and
// waits for a running extension if wait is set.
func keptAlive(rdb *redis.Client, wait bool) lock {
	return lock{
		acquire: setNX(rdb), release: deleteOwn(rdb),
		watch: func(ctx context.Context, key, token string, ttl time.Duration, _ func()) func() {
			return every(ctx, ttl/2, wait, func(ctx context.Context) bool {
				_, _ = setOwnOrNew(rdb)(ctx, key, token, ttl)
				return true
			})
		},
	}
}
