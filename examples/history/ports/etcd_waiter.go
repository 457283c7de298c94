package ports

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// etcdWaiter is a bug in concurrency.Mutex of etcd 3.4: after waiting in the queue, a client takes
// the lock without checking whether its own lease has ended. In this port the queue is on Redis.
var etcdWaiter = bug.Bug{
	Name:     "etcd-waiter",
	Title:    "etcd-io/etcd #11456",
	Link:     "https://github.com/etcd-io/etcd/issues/11456",
	FixedIn:  "3.5.0 (b14c7cd44)",
	Language: "Go",
	Story:    "A client that had waited for all earlier clients to leave took the lock without checking its own lease, which may have ended during the wait. (In this port the queue is on Redis.) Exclusion by race shows under client-pause in both versions: the oracle takes joining the queue for the grant, so it cannot classify the late holder as a limit.",
	Options:  locktest.Options{Blocking: true, Renews: true},
	Before:   queued(false),
	After:    queued(true),
}

// enqueue is etcd's transaction: it puts a key with a lease, and numbers the key. KEYS: queue,
// lease; ARGV: session, TTL. etcd numbers keys by itself. Here a sorted set, the queue, keeps the
// numbers, and expires with the last lease.
var enqueue = redis.NewScript(`
local last = redis.call('zrevrange', KEYS[1], 0, 0, 'withscores')
local n = (tonumber(last[2]) or 0) + 1
redis.call('zadd', KEYS[1], n, ARGV[1])
redis.call('pexpire', KEYS[1], ARGV[2])
redis.call('set', KEYS[2], n, 'px', ARGV[2])
return n`)

// keepAlive renews a session's lease unless the lease has ended. KEYS and ARGV are those of
// enqueue.
var keepAlive = redis.NewScript(`
if redis.call('pexpire', KEYS[2], ARGV[2]) == 0 then
  return 0
end
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`)

// before counts the sessions in the queue with numbers below ARGV[1]. It first removes sessions
// whose leases have ended; etcd does so by itself. KEYS: queue.
var before = redis.NewScript(`
for _, session in ipairs(redis.call('zrange', KEYS[1], 0, -1)) do
  if redis.call('exists', KEYS[1] .. ':' .. session) == 0 then
    redis.call('zrem', KEYS[1], session)
  end
end
return redis.call('zcount', KEYS[1], '-inf', '(' .. ARGV[1])`)

// leave removes a session. KEYS: queue, lease; ARGV: session.
var leave = redis.NewScript(`
redis.call('zrem', KEYS[1], ARGV[1])
return redis.call('del', KEYS[2])`)

var errSessionExpired = errors.New("session is expired")

// queued is a lock whose holder is the first in a queue. If check is set, a session that has waited
// checks that its own lease has not ended.
func queued(check bool) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			session := rand.Text()
			lease := key + ":" + session
			number, err := enqueue.Run(ctx, rdb, []string{key, lease}, session, ttl.Milliseconds()).Int64()
			if err != nil {
				return locktest.Held{}, err
			}
			stop := every(c.Context, ttl/3, false, func(ctx context.Context) bool {
				ok, err := did(keepAlive.Run(ctx, rdb, []string{key, lease}, session, ttl.Milliseconds()).Int64())
				return ok || err != nil
			})
			release := func(ctx context.Context) error {
				stop()
				ok, err := did(leave.Run(ctx, rdb, []string{key, lease}, session).Int64())
				return unless(ok, err, locktest.ErrNotHeld)
			}
			waited, err := first(ctx, rdb, key, number)
			if err == nil && waited && check {
				var n int64
				if n, err = rdb.Exists(ctx, lease).Result(); n == 0 && err == nil {
					err = errSessionExpired
				}
			}
			if err != nil {
				_ = release(c.Context)
				return locktest.Held{}, err
			}
			return locktest.Held{Token: session, Release: release}, nil
		}, nil
	}
}

// first waits until the queue has no session with a smaller number. It reports whether it had to
// wait.
func first(ctx context.Context, rdb *redis.Client, key string, number int64) (waited bool, err error) {
	for {
		n, err := before.Run(ctx, rdb, []string{key}, number).Int64()
		if n == 0 || err != nil {
			return waited, err
		}
		waited = true
		select {
		case <-ctx.Done():
			return waited, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}
