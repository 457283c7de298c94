package strangers

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// The scripts of fair locks: an asking client joins the queue, and only the head of the queue may
// take the lock.
// KEYS[1] is the lock, KEYS[2] the queue; ARGV[1] is the client, ARGV[2] the TTL in milliseconds,
// ARGV[3] the token of the attempt.
var (
	queueInList = redis.NewScript(`
if not redis.call('lpos', KEYS[2], ARGV[1]) then
  redis.call('rpush', KEYS[2], ARGV[1])
end
if redis.call('lindex', KEYS[2], 0) ~= ARGV[1] then
  return 0
end
if redis.call('set', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) then
  redis.call('lpop', KEYS[2])
  return 1
end
return 0`)
	queueInZSet = redis.NewScript(`
if not redis.call('zscore', KEYS[2], ARGV[1]) then
  local last = redis.call('zrange', KEYS[2], -1, -1, 'WITHSCORES')
  redis.call('zadd', KEYS[2], (tonumber(last[2]) or 0) + 1, ARGV[1])
end
if redis.call('zrange', KEYS[2], 0, 0)[1] ~= ARGV[1] then
  return 0
end
if redis.call('set', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) then
  redis.call('zrem', KEYS[2], ARGV[1])
  return 1
end
return 0`)
)

// queueWithTimeouts is a short form of Redisson's RFairLock. A waiting client renews its place with
// every request. Another client's request removes the head of the queue if the head has sent no
// request for ARGV[4] milliseconds. KEYS[1] is the lock, KEYS[2] the queue, KEYS[3] the deadlines
// of the waiting clients; ARGV[1] is the client, ARGV[2] the TTL in milliseconds, ARGV[3] the token
// of the attempt, ARGV[4] the time in milliseconds for which the client's place is kept.
const queueWithTimeouts = now + `
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head or head == ARGV[1] then break end
  local wait = redis.call('zscore', KEYS[3], head)
  if wait and tonumber(wait) >= now then break end
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], head)
end
if not redis.call('zscore', KEYS[3], ARGV[1]) then
  redis.call('rpush', KEYS[2], ARGV[1])
end
redis.call('zadd', KEYS[3], now + ARGV[4], ARGV[1])
redis.call('pexpire', KEYS[2], ARGV[4] * 10)
redis.call('pexpire', KEYS[3], ARGV[4] * 10)
if redis.call('lindex', KEYS[2], 0) ~= ARGV[1] then
  return 0
end
if redis.call('set', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[1])
  return 1
end
return 0`

// queueWithTimeoutsAgain also grants if an earlier request of the same attempt was granted.
const queueWithTimeoutsAgain = `
if redis.call('get', KEYS[1]) == ARGV[3] then return 1 end` + queueWithTimeouts

// queues are locks that clients get in the order in which they asked.
func queues() []Stranger {
	return []Stranger{
		{ID: "fair-list", Doc: "a queue in a list: nobody removes a dead head, so nobody gets the lock again", bind: fair(queueInList)},
		{ID: "fair-zset", Doc: "the same in a sorted set", bind: fair(queueInZSet)},
		{ID: "fair-timeouts", Doc: "a queue in a list: a head that sends no request for half a lease is removed", Right: true,
			// A client may wait for a dead holder's key and then for each dead head.
			promises: func(c *history.Claims, _ int) { c.Recovery = 3 * c.TTL },
			bind:     fair(redis.NewScript(queueWithTimeouts))},
		{ID: "fair-patient", Doc: "the same with a quarter of a lease; an attempt repeats its request until it is granted, at most 20 times, even after a lost answer, and counts its lease from the last request",
			promises: func(c *history.Claims, _ int) { c.Recovery = 3 * c.TTL },
			bind:     fairPatient},
		{ID: "handed-over", Doc: "the release passes the lock to the head of a queue; a late release gives away the same client's next lease",
			// A client may wait for a dead holder's lease and then for the dead head's
			// lease.
			promises: func(c *history.Claims, _ int) { c.Recovery = 3 * c.TTL },
			bind:     of(handedOver)},
	}
}

// fair returns a lock whose client has one name in the queue for all its attempts.
func fair(join *redis.Script) func(*locks.Client) maker {
	return of(func(l lease) locks.Lock {
		keys := []string{l.key, l.key + ":queue", l.key + ":timeouts"}
		me, err := l.c.Token()
		return steps{
			func(ctx context.Context) (locks.Lease, error) {
				if err != nil {
					return locks.Lease{}, err
				}
				return l.attempt(func(token string) *redis.Cmd {
					return join.Run(ctx, l.node(), keys, me, l.life(), token, milliseconds(l.ttl/2))
				})
			},
			l.unlock,
		}
	})
}

// fairPatient is like fair, but each attempt asks several times with one token.
func fairPatient(c *locks.Client) maker {
	join := redis.NewScript(queueWithTimeoutsAgain)
	me, err := c.Token()
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		l := lease{c, key, ttl}
		keys := []string{l.key, l.key + ":queue", l.key + ":timeouts"}
		return steps{
			func(ctx context.Context) (locks.Lease, error) {
				token, err := c.Token()
				if err != nil {
					return locks.Lease{}, err
				}
				held := locks.Lease{Token: token}
				for range 20 {
					if err = granted(join.Run(ctx, l.node(), keys, me, l.life(), token, milliseconds(l.ttl/4))); err == nil {
						return held, nil
					}
					time.Sleep(min(l.ttl/20, 50*time.Millisecond))
				}
				return held, err
			},
			l.unlock,
		}, err
	}
}

// Scripts of a lock that is handed over: a refused client joins the queue, and the release gives
// the lock to the head of the queue.
// KEYS[1] is the lock, KEYS[2] the queue; ARGV[1] is the client, ARGV[2] the TTL in milliseconds.
var (
	takeOrJoin = redis.NewScript(`
local owner = redis.call('get', KEYS[1])
if owner == ARGV[1] then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
if not owner then
  redis.call('lrem', KEYS[2], 0, ARGV[1])
  redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
  return 1
end
if not redis.call('lpos', KEYS[2], ARGV[1]) then
  redis.call('rpush', KEYS[2], ARGV[1])
end
return 0`)
	handOver = redis.NewScript(`
if redis.call('get', KEYS[1]) ~= ARGV[1] then
  return 0
end
local next = redis.call('lpop', KEYS[2])
if next then
  redis.call('set', KEYS[1], next, 'PX', ARGV[2])
else
  redis.call('del', KEYS[1])
end
return 1`)
)

// handedOver is a lock for which a client uses one name, both as holder and in the queue.
func handedOver(l lease) locks.Lock {
	keys := []string{l.key, l.key + ":queue"}
	me, err := l.c.Token()
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			if err != nil {
				return locks.Lease{}, err
			}
			return locks.Lease{Token: me}, granted(takeOrJoin.Run(ctx, l.node(), keys, me, l.life()))
		},
		func(ctx context.Context, held locks.Lease) error {
			return released(handOver.Run(ctx, l.node(), keys, held.Token, l.life()))
		},
	}
}
