package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonRenewal is a bug in RLock of Redisson 2.3.0: the watchdog renews the key without checking
// its owner, so it may keep the next holder's lock alive. This port has no re-entry.
var redissonRenewal = bug.Bug{
	Name:     "redisson-renewal",
	Title:    "redisson/redisson #597",
	Link:     "https://github.com/redisson/redisson/issues/597",
	FixedIn:  "2.4.0",
	Language: "Java",
	Story:    "The watchdog renewed the key without checking its owner: after a pause it kept the next holder's lock alive for ever.",
	Options:  locktest.Options{Renews: true},
	Before: on(func(rdb *redis.Client) lock {
		return hashLock(rdb, redis.NewScript(`return redis.call('pexpire', KEYS[1], ARGV[1])`))
	}),
	After: on(func(rdb *redis.Client) lock { return hashLock(rdb, renewOwnField) }),
	Fault: "client-pause", Flaw: "ownership by foreign-renewal",
	OtherBugsLeft: true,
}

var acquireField = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 0 then
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 1
end
return 0`)

var releaseField = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return redis.call('del', KEYS[1])
end
return 0`)

var renewOwnField = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
  return redis.call('pexpire', KEYS[1], ARGV[1])
end
return 0`)

// hashLock is a hash with a field for its owner, and a watchdog. The watchdog runs renew three
// times in each lease. It stops when renew fails, or replies something other than 1.
func hashLock(rdb *redis.Client, renew *redis.Script) lock {
	return lock{
		acquire: func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
			return did(acquireField.Run(ctx, rdb, []string{key}, ttl.Milliseconds(), token).Int64())
		},
		release: func(ctx context.Context, key, token string) (bool, error) {
			return did(releaseField.Run(ctx, rdb, []string{key}, token).Int64())
		},
		watch: func(ctx context.Context, key, token string, ttl time.Duration, _ func()) func() {
			return every(ctx, ttl/3, false, func(ctx context.Context) bool {
				ok, err := did(renew.Run(ctx, rdb, []string{key}, ttl.Milliseconds(), token).Int64())
				return ok && err == nil
			})
		},
	}
}
