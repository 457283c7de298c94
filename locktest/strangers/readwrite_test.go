package strangers

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Scripts of a hash with a field for each holder. The name of the field is the holder's token, the
// value is "r" or "w". KEYS[1] is the lock; ARGV[1] is the token, ARGV[2] the TTL in milliseconds.
var (
	readAndCreate = redis.NewScript(`
for _, mode in ipairs(redis.call('hvals', KEYS[1])) do
  if mode == 'w' then return 0 end
end
local created = redis.call('exists', KEYS[1]) == 0
redis.call('hset', KEYS[1], ARGV[1], 'r')
if created then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1`)
	writeAndCreate = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
redis.call('hset', KEYS[1], ARGV[1], 'w')
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`)
	leaveHash = redis.NewScript(`return redis.call('hdel', KEYS[1], ARGV[1])`)
)

// Scripts of a sorted set of holders. The score is the end of the hold by the node's clock. A
// member is "r:" or "w:", followed by the token.
// KEYS[1] is the lock; ARGV[1] is the member, ARGV[2] the lease in milliseconds.
var (
	nodeTime = now + `
redis.call('zremrangebyscore', KEYS[1], '-inf', now - 1)`
	enterRanked = `
redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('pexpire', KEYS[1], ARGV[2])
end
return 1`
	readRanked = redis.NewScript(nodeTime + `
for _, member in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
  if string.sub(member, 1, 2) == 'w:' then return 0 end
end` + enterRanked)
	writeRanked = redis.NewScript(nodeTime + `
if redis.call('zcard', KEYS[1]) > 0 then
  return 0
end` + enterRanked)
	leaveRanked = redis.NewScript(`return redis.call('zrem', KEYS[1], ARGV[1])`)
)

// Scripts of a key for the writer, a key for the readers, and a mark that a refused writer leaves.
// While the mark exists, no reader gets in. The mark expires after the TTL, and a writer that gets
// in removes it. KEYS[1] is the lock; ARGV[1] is the token, ARGV[2] the TTL in milliseconds.
var (
	readUnmarked = redis.NewScript(`
if redis.call('exists', KEYS[1] .. ':writer', KEYS[1] .. ':mark') > 0 then
  return 0
end
redis.call('hset', KEYS[1] .. ':readers', ARGV[1], 1)
redis.call('pexpire', KEYS[1] .. ':readers', ARGV[2])
return 1`)
	writeOrMark = redis.NewScript(`
if redis.call('exists', KEYS[1] .. ':writer', KEYS[1] .. ':readers') > 0 then
  redis.call('set', KEYS[1] .. ':mark', ARGV[1], 'PX', ARGV[2])
  return 0
end
redis.call('set', KEYS[1] .. ':writer', ARGV[1], 'PX', ARGV[2])
redis.call('del', KEYS[1] .. ':mark')
return 1`)
	leaveEither = redis.NewScript(`
if redis.call('get', KEYS[1] .. ':writer') == ARGV[1] then
  return redis.call('del', KEYS[1] .. ':writer')
end
return redis.call('hdel', KEYS[1] .. ':readers', ARGV[1])`)
)

// readWrites are locks that several clients may hold for reading.
func readWrites() []Stranger {
	modes := func(c *history.Claims, _ int) { c.ReadWrite = true }
	return []Stranger{
		{ID: "rw-creator-sets-life", Doc: "a hash whose TTL is set only when it is created: it expires under readers that joined later",
			promises: modes, bind: of(func(l lease) locks.Lock {
				return &shared{lease: l, read: readAndCreate, write: writeAndCreate, leave: leaveHash}
			})},
		{ID: "rw-zset", Doc: "a sorted set: each member's score is the end of its lease by the node's clock", Right: true,
			promises: modes, bind: of(func(l lease) locks.Lock {
				return &shared{lease: l, read: readRanked, write: writeRanked, leave: leaveRanked}
			})},
		{ID: "rw-writers-first", Doc: "a refused writer keeps new readers out", Right: true,
			promises: modes, bind: of(func(l lease) locks.Lock {
				return &shared{lease: l, read: readUnmarked, write: writeOrMark, leave: leaveEither}
			})},
	}
}

// shared is a read-write lock made of three scripts.
type shared struct {
	lease
	read, write, leave *redis.Script
}

// Read implements locks.RWLocker.
func (l *shared) Read() locks.Lock { return l.side("r:", l.read) }

// Write implements locks.RWLocker.
func (l *shared) Write() locks.Lock { return l.side("w:", l.write) }

// TryLock implements locks.Lock for the writer.
func (l *shared) TryLock(ctx context.Context) (locks.Lease, error) { return l.Write().TryLock(ctx) }

// Unlock implements locks.Lock for the writer.
func (l *shared) Unlock(ctx context.Context, held locks.Lease) error {
	return l.Write().Unlock(ctx, held)
}

func (l *shared) side(prefix string, enter *redis.Script) locks.Lock {
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			token, err := l.c.Token()
			if err != nil {
				return locks.Lease{}, err
			}
			member := prefix + token
			return locks.Lease{Token: member}, granted(enter.Run(ctx, l.node(), []string{l.key}, member, l.life()))
		},
		func(ctx context.Context, held locks.Lease) error {
			return released(l.leave.Run(ctx, l.node(), []string{l.key}, held.Token))
		},
	}
}
