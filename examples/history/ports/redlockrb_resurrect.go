package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// redlockrbResurrect is a bug in the option extend of Client.lock in redlock-rb 0.1.6,
// lib/redlock/client.rb: extending sets a missing key, so that it succeeds after the lease has
// ended.
var redlockrbResurrect = bug.Bug{
	Name:     "redlock-rb-resurrect",
	Title:    "leandromoreira/redlock-rb #36",
	Link:     "https://github.com/leandromoreira/redlock-rb/issues/36",
	FixedIn:  "0.1.7",
	Language: "Ruby",
	Story:    "Extending ran the script that acquires, which sets a key that is not there: a lock that had expired was extended with success, although others may have held it meanwhile.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: setOwnOrNew(rdb)}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: extendOwn(rdb)}
	}),
	Fault: "client-pause", Flaw: "extension by lease-outlived",
}

var ownOrNew = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 0 or redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
return 0`)

func setOwnOrNew(rdb *redis.Client) func(context.Context, string, string, time.Duration) (bool, error) {
	return func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
		return did(ownOrNew.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int64())
	}
}
