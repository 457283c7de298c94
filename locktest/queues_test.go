package locktest_test

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// joinOrTake is the script of a fair lock, after Redisson's. Who is refused joins a queue, and asks again
// while it waits. A head of the queue that has not asked for ARGV[4] milliseconds is removed. KEYS[1] is the
// lock, KEYS[2] the queue, KEYS[3] the times until which places are kept; ARGV[1] is the client, ARGV[2] the
// lease in milliseconds, ARGV[3] the token.
var joinOrTake = redis.NewScript(`
local t = redis.call('time')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local wait = tonumber(ARGV[4])
while true do
  local head = redis.call('lindex', KEYS[2], 0)
  if not head or head == ARGV[1] or tonumber(redis.call('zscore', KEYS[3], head)) >= now then break end
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], head)
end
if not redis.call('zscore', KEYS[3], ARGV[1]) then
  redis.call('rpush', KEYS[2], ARGV[1])
end
redis.call('zadd', KEYS[3], now + wait, ARGV[1])
if redis.call('lindex', KEYS[2], 0) ~= ARGV[1] then
  return 0
end
if redis.call('set', KEYS[1], ARGV[3], 'NX', 'PX', ARGV[2]) then
  redis.call('lpop', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[1])
  return 1
end
return 0`)

// leaveQueue takes a client's place out of the queue. KEYS and ARGV[1] are those of joinOrTake.
var leaveQueue = redis.NewScript(`
redis.call('lrem', KEYS[2], 0, ARGV[1])
return redis.call('zrem', KEYS[3], ARGV[1])`)

// waitingQueue is a correct fair lock whose Acquire waits for its turn. An Acquire whose context ends leaves
// the queue. A client that has died keeps its place until 5 s and a lease after it asked for the last time.
func waitingQueue(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token, keys := rand.Text(), []string{key, key + ":queue", key + ":until"}
		held := owned(rdb, key, token)
		for {
			in, err := joinOrTake.Run(ctx, rdb, keys, token, ttl.Milliseconds(), token, (5*time.Second + ttl).Milliseconds()).Int64()
			if err != nil || in == 1 {
				return held, err
			}
			select {
			case <-time.After(ttl / 50):
			case <-ctx.Done():
				_ = leaveQueue.Run(context.WithoutCancel(ctx), rdb, keys, token).Err() // if this fails, others remove the place
				return held, locktest.ErrBusy
			}
		}
	}, nil
}
