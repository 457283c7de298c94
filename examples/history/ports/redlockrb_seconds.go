package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// redlockrbSeconds is a bug in the option extend_life of Client.lock in redlock-rb 0.1.8,
// lib/redlock/client.rb: extending passes milliseconds to EXPIRE, which takes them for seconds.
var redlockrbSeconds = bug.Bug{
	Name:     "redlock-rb-seconds",
	Title:    "leandromoreira/redlock-rb #44",
	Link:     "https://github.com/leandromoreira/redlock-rb/issues/44",
	FixedIn:  "0.2.0",
	Language: "Ruby",
	Story:    "Extending passed milliseconds to EXPIRE: an extended lease of 30 s lasted for eight hours, and so did the lock of a holder that died. (node-redlock had the same in e09c9ff.)",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			return did(compareAndExpireSeconds.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int64())
		}}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: extendOwn(rdb)}
	}),
	Fault: "client-crash", Flaw: "liveness by long-lease",
}

var compareAndExpireSeconds = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('expire', KEYS[1], ARGV[2])
end
return 0`)
