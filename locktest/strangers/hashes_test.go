package strangers

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// The scripts of a hash with the fields owner and count.
// KEYS[1] is the lock; ARGV[1] is the owner, ARGV[2] the TTL in milliseconds.
var (
	enterOwned = redis.NewScript(`
local owner = redis.call('hget', KEYS[1], 'owner')
if owner and owner ~= ARGV[1] then
  return 0
end
redis.call('hset', KEYS[1], 'owner', ARGV[1])
redis.call('hincrby', KEYS[1], 'count', 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`)
	leaveOwned = redis.NewScript(`
if redis.call('hget', KEYS[1], 'owner') ~= ARGV[1] then
  return -1
end
local count = redis.call('hincrby', KEYS[1], 'count', -1)
if count == 0 then
  redis.call('del', KEYS[1])
end
return count`)
)

// The scripts of one hash for all locks. Each lock has a field with its token and the end of its
// lease, by the node's clock. Fields have no TTL of their own.
// KEYS[1] is the hash; ARGV[1] is the lock, ARGV[2] the token, ARGV[3] the lease in milliseconds.
var (
	takeField = redis.NewScript(now + `
local held = redis.call('hget', KEYS[1], ARGV[1])
if held and tonumber(string.match(held, '(%d+)$')) >= now then
  return 0
end
redis.call('hset', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. string.format('%.0f', now + ARGV[3]))
return 1`)
	dropField = redis.NewScript(`
local held = redis.call('hget', KEYS[1], ARGV[1])
if not held or string.match(held, '^(%S+)') ~= ARGV[2] then
  return 0
end
return redis.call('hdel', KEYS[1], ARGV[1])`)
)

// hashes are locks that keep the owner and other state in a hash.
func hashes() []Stranger {
	return []Stranger{
		{ID: "owner-count", Doc: "a reentrant lock: a hash with the owner and the number of its acquires", Right: true,
			promises: func(c *history.Claims, _ int) { c.Reentrant = true }, bind: ownerCount},
		{ID: "hash-of-locks", Doc: "one hash for all locks: each field holds the end of a lease, and the key has no TTL", Right: true, bind: of(fieldLock)},
	}
}

// ownerCount is a lock that its owner may acquire again; it counts the owner's acquires. A client
// has one owner token for its whole life.
func ownerCount(c *locks.Client) maker {
	owner, err := c.Token()
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		l := lease{c, key, ttl}
		return steps{
			func(ctx context.Context) (locks.Lease, error) {
				return locks.Lease{Token: owner}, granted(enterOwned.Run(ctx, l.node(), []string{key}, owner, l.life()))
			},
			func(ctx context.Context, _ locks.Lease) error {
				left, err := leaveOwned.Run(ctx, l.node(), []string{key}, owner).Int64()
				switch {
				case err != nil:
					return fmt.Errorf("release: %w", err)
				case left < 0:
					return locks.ErrNotHeld
				}
				return nil
			},
		}, err
	}
}

func fieldLock(l lease) locks.Lock {
	hash := []string{"locks"}
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			return l.attempt(func(token string) *redis.Cmd { return takeField.Run(ctx, l.node(), hash, l.key, token, l.life()) })
		},
		func(ctx context.Context, held locks.Lease) error {
			return released(dropField.Run(ctx, l.node(), hash, l.key, held.Token))
		},
	}
}
