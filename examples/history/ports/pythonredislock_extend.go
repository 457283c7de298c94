package ports

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"
)

// pythonredislockExtend is a bug in Lock.extend of python-redis-lock in November 2015 (never
// released): the extension does not compare the token, so a client whose lease has ended prolongs
// the next holder's lease.
var pythonredislockExtend = bug.Bug{
	Name:     "python-redis-lock-extend",
	Title:    "ionelmc/python-redis-lock #31",
	Link:     "https://github.com/ionelmc/python-redis-lock/pull/31",
	FixedIn:  "3.0.0",
	Language: "Python",
	Story:    "Extend checked the key's TTL, but not its owner: a holder whose lease had ended prolonged the next holder's lease and went on.",
	Before: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: func(ctx context.Context, key, _ string, ttl time.Duration) (bool, error) {
			return did(expireAny.Run(ctx, rdb, []string{key}, ttl.Milliseconds()).Int64())
		}}
	}),
	After: on(func(rdb *redis.Client) lock {
		return lock{acquire: setNX(rdb), release: deleteOwn(rdb), extend: extendOwn(rdb)}
	}),
	Fault: "none", Flaw: "ownership by foreign-renewal",
}

var expireAny = redis.NewScript(`
if redis.call('ttl', KEYS[1]) >= 0 then
  return redis.call('pexpire', KEYS[1], ARGV[1])
end
return 0`)
