package strangers

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// The scripts of locks that count the asking clients: the first one has the lock.
// KEYS[1] is the counter, KEYS[2] its owner; ARGV[1] is the token, ARGV[2] the TTL in
// milliseconds.
var (
	countOwned = redis.NewScript(`
if redis.call('incr', KEYS[1]) ~= 1 then
  return 0
end
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('set', KEYS[2], ARGV[1], 'PX', ARGV[2])
return 1`)
	uncountOwned = redis.NewScript(`
if redis.call('get', KEYS[2]) ~= ARGV[1] then
  return 0
end
return redis.call('del', KEYS[1], KEYS[2])`)
	count = redis.NewScript(`
if redis.call('incr', KEYS[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0`)
	countOrBack = redis.NewScript(`
if redis.call('incr', KEYS[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
redis.call('decr', KEYS[1])
return 0`)
)

// counters are locks that count their requests by INCR: the client whose request is the first gets
// the lock.
func counters() []Stranger {
	counted := func(enter *redis.Script, leave func(ctx context.Context, l lease) *redis.Cmd) func(*locks.Client) maker {
		return of(func(l lease) locks.Lock {
			return steps{
				l.take(enter, l.key),
				func(ctx context.Context, _ locks.Lease) error { return released(leave(ctx, l)) },
			}
		})
	}
	return []Stranger{
		{ID: "incr-owned", Doc: "INCR to 1 takes the lock; a second key with the same TTL holds the owner's token", Right: true, bind: of(incrOwned)},
		{ID: "incr-del", Doc: "INCR to 1 takes the lock; the release deletes the counter, even if another client owns it",
			bind: counted(count, func(ctx context.Context, l lease) *redis.Cmd { return l.node().Do(ctx, "DEL", l.key) })},
		{ID: "incr-decr", Doc: "INCR to 1 takes the lock, DECR releases it; a DECR after the key expired leaves the counter below zero for ever",
			bind: of(incrDecr)},
	}
}

func incrOwned(l lease) locks.Lock {
	keys := []string{l.key, l.key + ":owner"}
	return steps{l.take(countOwned, keys...), l.drop(uncountOwned, keys...)}
}

func incrDecr(l lease) locks.Lock {
	return steps{
		l.take(countOrBack, l.key),
		func(ctx context.Context, _ locks.Lease) error { return l.node().Decr(ctx, l.key).Err() },
	}
}
