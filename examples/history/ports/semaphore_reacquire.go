package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// semaphoreReacquire is a bug in Mutex of redis-semaphore 5.3.0, src/mutex/refresh.ts: a refresh
// sets a missing key again, so a holder whose lease has ended does not learn that it lost the lock.
var semaphoreReacquire = bug.Bug{
	Name:     "redis-semaphore-reacquire",
	Title:    "swarthy/redis-semaphore 3f70489",
	Link:     "https://github.com/swarthy/redis-semaphore/commit/3f70489",
	FixedIn:  "5.3.1",
	Language: "TypeScript",
	Story:    "A refresh that found no key set the key again: a holder that had been paused took the lock back, although other clients may have held it during the pause, and did not learn that it had lost it. Such a lock claims no deadline, so a frozen client shows only limits.",
	Options:  locktest.Options{Renews: true},
	Before:   on(func(rdb *redis.Client) lock { return refreshed(rdb, setOwnOrNew(rdb)) }),
	After:    on(func(rdb *redis.Client) lock { return refreshed(rdb, extendOwn(rdb)) }),
}

// refreshed is a lock that renews its lease whenever four fifths of the lease are over. If refresh
// returns false without an error, the lock tells its holder that the lock is lost.
func refreshed(rdb *redis.Client, refresh func(context.Context, string, string, time.Duration) (bool, error)) lock {
	return lock{
		acquire: setNX(rdb), release: deleteOwn(rdb),
		watch: func(ctx context.Context, key, token string, ttl time.Duration, lost func()) func() {
			return every(ctx, ttl*4/5, false, func(ctx context.Context) bool {
				ok, err := refresh(ctx, key, token, ttl)
				if !ok && err == nil {
					lost()
				}
				return ok || err != nil
			})
		},
	}
}
