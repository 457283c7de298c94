package ports

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonRW is RReadWriteLock of Redisson: a hash with its mode, and with a field for each owner
// that counts the owner's holds. Each hold of a reader has a key of its own, which expires with the
// reader's lease. Fields and keys are named as in Redisson. The ports send no messages to waiters,
// because nobody waits.
type redissonRW struct {
	acquireRead, acquireWrite *redis.Script // KEYS: lock; ARGV: lease, owner
	releaseRead, releaseWrite *redis.Script // KEYS: lock; ARGV: lease, owner
	renewRead, renewWrite     *redis.Script // nil: no watchdog
	persists                  bool          // the watchdog goes on after an error
}

// rwClient is the lock in a client process. The owner is a random id of the process and, after a
// colon, the number of its only thread: Redisson names owners in this way.
type rwClient struct {
	redissonRW
	rdb   *redis.Client
	owner string
}

func (l redissonRW) client(c *locktest.Client) rwClient {
	rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
	c.Cleanup(func() { _ = rdb.Close() })
	return rwClient{l, rdb, rand.Text() + ":1"}
}

// subject returns the lock as a Subject: readers acquire it by read, writers by write.
func (l redissonRW) subject() locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		own := l.client(c)
		c.Readers(func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			return own.read(ctx, c, key, ttl)
		})
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			return own.write(ctx, c, key, ttl)
		}, nil
	}
}

func (l rwClient) read(ctx context.Context, c *locktest.Client, key string, ttl time.Duration) (locktest.Held, error) {
	return l.acquire(ctx, c, key, ttl, ttl, rwMode{l.acquireRead, l.releaseRead, l.renewRead})
}

func (l rwClient) write(ctx context.Context, c *locktest.Client, key string, ttl time.Duration) (locktest.Held, error) {
	return l.acquire(ctx, c, key, ttl, ttl, rwMode{l.acquireWrite, l.releaseWrite, l.renewWrite})
}

// rwMode has the three scripts with which readers, or writers, use the lock.
type rwMode struct{ acquire, release, renew *redis.Script }

// acquire makes one attempt, for a lease; an inner release sets it to ttl. The holder's deadline is the end
// of the requested lease; with a watchdog there is no deadline.
func (l rwClient) acquire(ctx context.Context, c *locktest.Client, key string, lease, ttl time.Duration, m rwMode) (locktest.Held, error) {
	run := func(ctx context.Context, s *redis.Script, life time.Duration) error {
		return s.Run(ctx, l.rdb, []string{key}, life.Milliseconds(), l.owner).Err()
	}
	until := time.Now().Add(lease)
	if err := run(ctx, m.acquire, lease); !errors.Is(err, redis.Nil) {
		return locktest.Held{}, unless(false, err, locktest.ErrBusy)
	}
	held, stop := locktest.Held{Token: l.owner}, func() {}
	if m.renew == nil {
		held.Until = func() time.Time { return until }
	} else {
		stop = every(c.Context, lease/3, false, func(ctx context.Context) bool {
			ok, err := did(m.renew.Run(ctx, l.rdb, []string{key}, lease.Milliseconds(), l.owner).Int64())
			return ok && err == nil || err != nil && l.persists
		})
	}
	held.Release = func(ctx context.Context) error {
		stop()
		err := run(ctx, m.release, ttl)
		if errors.Is(err, redis.Nil) {
			return locktest.ErrNotHeld
		}
		return err
	}
	return held, nil
}

// These are the locks of some Redisson versions, such as redisson292 of version 2.9.2.
var (
	redisson292 = redissonRW{
		acquireRead: acquireReader(newest), acquireWrite: acquireWriter(newest),
		releaseRead: releaseReader(`return 1`, ``), releaseWrite: releaseWriter(`return 1`),
	}
	redisson293 = redisson292.but(func(l *redissonRW) { l.releaseRead = releaseReader(`return 1`, keepWriter) })
	// redisson355 is the lock of Redisson 2.10.5 and 3.5.5.
	redisson355 = redisson293.but(func(l *redissonRW) {
		l.acquireWrite = acquireWriter(`redis.call('pexpire', KEYS[1], redis.call('pttl', KEYS[1]) + ARGV[1])`)
	})
	redisson3111 = redisson355.but(func(l *redissonRW) {
		l.acquireRead = acquireReader(`redis.call('pexpire', KEYS[1], math.max(redis.call('pttl', KEYS[1]), ARGV[1]))`)
	})
	redisson3440 = redisson3111.but(func(l *redissonRW) {
		l.persists = true
		l.releaseRead, l.releaseWrite = releaseReader(`return nil`, keepWriter), releaseWriter(`return nil`)
	})
)

const (
	newest     = `redis.call('pexpire', KEYS[1], ARGV[1])` // the newest lease replaces the hash's expiry
	keepWriter = `if mode == 'write' then return 0 end`    // a writer that has read too stays the writer
)

// but returns a copy of the lock to which change has been applied.
func (l redissonRW) but(change func(*redissonRW)) redissonRW {
	change(&l)
	return l
}

// watched returns the lock with a watchdog, which runs renew for readers.
func (l redissonRW) watched(renew *redis.Script) redissonRW {
	l.renewRead = renew
	l.renewWrite = redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1 then
  return redis.call('pexpire', KEYS[1], ARGV[1])
end
return 0`)
	return l
}

// renewReaders renews the hash, and the keys of the holds of owners, if the caller has a field in
// the hash. The parameter owners is a Lua expression: allOwners or ownOnly.
func renewReaders(owners string) *redis.Script {
	return redis.NewScript(`
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return 0
end
redis.call('pexpire', KEYS[1], ARGV[1])
for _, owner in ipairs(` + owners + `) do
  local holds = tonumber(redis.call('hget', KEYS[1], owner))
  if type(holds) == 'number' then
    for i = holds, 1, -1 do
      redis.call('pexpire', KEYS[1] .. ':' .. owner .. ':rwlock_timeout:' .. i, ARGV[1])
    end
  end
end
return 1`)
}

const allOwners, ownOnly = `redis.call('hkeys', KEYS[1])`, `{ARGV[2]}`

// acquireReader grants the lock for reading if no other client writes; the writer may read too. If
// readers or the caller already hold the lock, the script also runs expire, a Lua statement that
// sets the TTL of the hash.
func acquireReader(expire string) *redis.Script {
	return redis.NewScript(`
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'read')
  redis.call('hset', KEYS[1], ARGV[2], 1)
  redis.call('set', KEYS[1] .. ':' .. ARGV[2] .. ':rwlock_timeout:1', 1)
  redis.call('pexpire', KEYS[1] .. ':' .. ARGV[2] .. ':rwlock_timeout:1', ARGV[1])
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'read' or redis.call('hexists', KEYS[1], ARGV[2] .. ':write') == 1 then
  local n = redis.call('hincrby', KEYS[1], ARGV[2], 1)
  local key = KEYS[1] .. ':' .. ARGV[2] .. ':rwlock_timeout:' .. n
  redis.call('set', key, 1)
  redis.call('pexpire', key, ARGV[1])
  ` + expire + `
  return nil
end
return redis.call('pttl', KEYS[1])`)
}

// acquireWriter grants the lock for writing if nobody has it, or if the caller already has it for
// writing. In the second case, the script runs expire, a Lua statement that sets the TTL of the hash. A
// caller that only reads is refused, even if nobody else reads.
func acquireWriter(expire string) *redis.Script {
	return redis.NewScript(`
local mode, field = redis.call('hget', KEYS[1], 'mode'), ARGV[2] .. ':write'
if mode == false then
  redis.call('hset', KEYS[1], 'mode', 'write')
  redis.call('hset', KEYS[1], field, 1)
  redis.call('pexpire', KEYS[1], ARGV[1])
  return nil
end
if mode == 'write' and redis.call('hexists', KEYS[1], field) == 1 then
  redis.call('hincrby', KEYS[1], field, 1)
  ` + expire + `
  return nil
end
return redis.call('pttl', KEYS[1])`)
}

// releaseReader releases one read. If there is no hash, the script runs gone. If reads remain, also
// reads of the caller, the hash expires with the last of their leases. Otherwise the script runs
// writer if other fields remain, and then removes the hash. Both gone and writer are Lua statements,
// and may return.
func releaseReader(gone, writer string) *redis.Script {
	return redis.NewScript(`
local mode = redis.call('hget', KEYS[1], 'mode')
if mode == false then
  ` + gone + `
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then
  return nil
end
local count = redis.call('hincrby', KEYS[1], ARGV[2], -1)
if count == 0 then
  redis.call('hdel', KEYS[1], ARGV[2])
end
redis.call('del', KEYS[1] .. ':' .. ARGV[2] .. ':rwlock_timeout:' .. (count + 1))
if redis.call('hlen', KEYS[1]) > 1 then
  local left = -3
  for _, owner in ipairs(redis.call('hkeys', KEYS[1])) do
    local holds = tonumber(redis.call('hget', KEYS[1], owner))
    if type(holds) == 'number' then
      for i = holds, 1, -1 do
        left = math.max(left, redis.call('pttl', KEYS[1] .. ':' .. owner .. ':rwlock_timeout:' .. i))
      end
    end
  end
  if left > 0 then
    redis.call('pexpire', KEYS[1], left)
    return 0
  end
  ` + writer + `
end
redis.call('del', KEYS[1])
return 1`)
}

// releaseWriter releases one write. If there is no hash, the script runs gone, a Lua statement.
func releaseWriter(gone string) *redis.Script {
	return redis.NewScript(`
local mode, field = redis.call('hget', KEYS[1], 'mode'), ARGV[2] .. ':write'
if mode == false then
  ` + gone + `
end
if mode ~= 'write' or redis.call('hexists', KEYS[1], field) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], field, -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[1])
  return 0
end
redis.call('hdel', KEYS[1], field)
if redis.call('hlen', KEYS[1]) == 1 then
  redis.call('del', KEYS[1])
else
  redis.call('hset', KEYS[1], 'mode', 'read')
end
return 1`)
}

// rwAcquire makes one attempt to acquire the lock, as rwClient.read does; own is the client
// process.
type rwAcquire func(own rwClient, ctx context.Context, c *locktest.Client, key string, ttl time.Duration) (locktest.Held, error)

// nested makes a Subject of a lock that a client process acquires again while it holds the lock.
// The first acquire is outer, all further acquires are inner.
func (l redissonRW) nested(outer, inner rwAcquire) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		own := l.client(c)
		var mu sync.Mutex
		holds := map[string]int{} // by lock
		count := func(key string, n int) int {
			mu.Lock()
			defer mu.Unlock()
			holds[key] += n
			return holds[key]
		}
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			acquire := outer
			if count(key, 0) > 0 {
				acquire = inner
			}
			held, err := acquire(own, ctx, c, key, ttl)
			if err != nil {
				return held, err
			}
			count(key, 1)
			release := held.Release
			held.Release = func(ctx context.Context) error {
				count(key, -1)
				return release(ctx)
			}
			return held, nil
		}, nil
	}
}
