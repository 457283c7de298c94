package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// retoolsClock is a bug in Lock of retools 0.3, retools/lock.py: each client decides by its own
// clock whether a lease has ended, so a client with a fast clock takes a held lock.
var retoolsClock = bug.Bug{
	Name:     "retools-clock",
	Title:    "bbangert/retools #18",
	Link:     "https://github.com/bbangert/retools/issues/18",
	FixedIn:  "0.4",
	Language: "Python",
	Story:    "Each client decided by its own clock whether a lease had ended: one whose clock was fast took a lock that was held.",
	Options:  locktest.Options{WallClock: true},
	Before:   timed(func(rdb *redis.Client, now func() time.Time) lock { return byTimestamp(rdb, now, false) }),
	After:    on(func(rdb *redis.Client) lock { return lock{acquire: setNXExpire(rdb), release: deleteOwn(rdb)} }),
	Fault:    "client-skew", Flaw: "exclusion by race",
}

var setNXExpireScript = redis.NewScript(`
local result = redis.call('setnx', KEYS[1], ARGV[1])
if result == 1 then
  redis.call('expire', KEYS[1], ARGV[2])
end
return result`)

func setNXExpire(rdb *redis.Client) func(context.Context, string, string, time.Duration) (bool, error) {
	return func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
		return did(setNXExpireScript.Run(ctx, rdb, []string{key}, token, int(ttl.Seconds())).Int64())
	}
}
