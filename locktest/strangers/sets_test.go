package strangers

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// addFirst takes the lock if its set is empty.
// KEYS[1] is the lock; ARGV[1] is the token, ARGV[2] the TTL in milliseconds.
var addFirst = redis.NewScript(`
if redis.call('scard', KEYS[1]) > 0 then
  return 0
end
redis.call('sadd', KEYS[1], ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`)

// takeToken takes the lock: it removes the only token from a list, and replies with nil if the list
// is empty. The first call puts the token into the list. KEYS[1] is the list; KEYS[2] marks that
// the list has been filled.
var takeToken = redis.NewScript(`
if redis.call('setnx', KEYS[2], 1) == 1 then
  redis.call('rpush', KEYS[1], 'token')
end
return redis.call('lpop', KEYS[1])`)

// sets are locks that keep their state in a set or a list.
func sets() []Stranger {
	return []Stranger{
		{ID: "set-member", Doc: "a set whose only member is the token", Right: true, bind: of(setMember)},
		{ID: "token-list", Doc: "a list with one token: the owner pops the token and pushes it back; the token names no owner, and is lost if its owner dies",
			promises: func(c *history.Claims, _ int) { c.Recovery = 0 }, bind: of(tokenList)},
		{ID: "set-of-locks", Doc: "one set of all taken locks: SADD takes a lock and SREM releases it; no TTL, no owner",
			promises: func(c *history.Claims, _ int) { c.Recovery = 0 }, bind: of(setOfLocks)},
	}
}

func setMember(l lease) locks.Lock {
	return steps{l.take(addFirst, l.key), l.remove("SREM")}
}

func setOfLocks(l lease) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return locks.Lease{}, granted(l.node().Do(ctx, "SADD", "locks", l.key))
		},
		func(ctx context.Context, _ locks.Lease) error {
			return released(l.node().Do(ctx, "SREM", "locks", l.key))
		},
	}
}

func tokenList(l lease) locks.Lock {
	keys := []string{l.key + ":tokens", l.key + ":filled"}
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return locks.Lease{}, granted(takeToken.Run(ctx, l.node(), keys))
		},
		func(ctx context.Context, _ locks.Lease) error {
			return l.node().RPush(ctx, keys[0], "token").Err()
		},
	}
}
