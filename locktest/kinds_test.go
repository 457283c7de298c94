package locktest_test

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// readEnter adds a reader with its own deadline by the server's clock, unless there is a writer.
// KEYS[1] is the writer, KEYS[2] the readers, ARGV[1] the token, ARGV[2] the lease in milliseconds.
var readEnter = redis.NewScript(`
if redis.call('exists', KEYS[1]) == 1 then
  return 0
end
local time = redis.call('time')
redis.call('zadd', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2], ARGV[1])
redis.call('pexpire', KEYS[2], ARGV[2])
return 1`)

// writeEnter sets the writer unless there is a writer, or a reader whose deadline is in the future.
// KEYS and ARGV are those of readEnter.
var writeEnter = redis.NewScript(`
local time = redis.call('time')
redis.call('zremrangebyscore', KEYS[2], '-inf', time[1] * 1000 + math.floor(time[2] / 1000))
if redis.call('zcard', KEYS[2]) > 0 then
  return 0
end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
return 0`)

// readWrite is a correct read-write lock: each reader has a lease of its own.
func readWrite(c *locktest.Client) (locktest.Acquire, error) {
	return readWriteTelling(c, func(time.Time) func() time.Time { return nil })
}

// readWriteUntil is the lock readWrite, which also tells its holders until when they hold it. It claims its
// leases for longer than they are if late is positive.
func readWriteUntil(late time.Duration) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		return readWriteTelling(c, func(end time.Time) func() time.Time {
			return func() time.Time { return end.Add(late) }
		})
	}
}

// readWriteTelling is the lock readWrite whose Held.Until is that of a lease that ends at end.
func readWriteTelling(c *locktest.Client, until func(end time.Time) func() time.Time) (locktest.Acquire, error) {
	rdb := connect(c)
	acquire := func(enter *redis.Script, leave func(ctx context.Context, key, token string) (int64, error)) locktest.Acquire {
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			token, end := rand.Text(), time.Now().Add(ttl)
			in, err := enter.Run(ctx, rdb, []string{key, key + ":readers"}, token, ttl.Milliseconds()).Int64()
			if err == nil && in == 0 {
				err = locktest.ErrBusy
			}
			return locktest.Held{Token: token, Until: until(end), Release: func(ctx context.Context) error {
				return released(leave(ctx, key, token))
			}}, err
		}
	}
	c.Readers(acquire(readEnter, func(ctx context.Context, key, token string) (int64, error) {
		return rdb.ZRem(ctx, key+":readers", token).Result()
	}))
	return acquire(writeEnter, func(ctx context.Context, key, token string) (int64, error) {
		return compareAndDelete.Run(ctx, rdb, []string{key}, token).Int64()
	}), nil
}

// sharedByAll is a lock whose writers exclude each other, but whose readers always get in, even
// beside a writer.
func sharedByAll(c *locktest.Client) (locktest.Acquire, error) {
	c.Readers(func(context.Context, string, time.Duration) (locktest.Held, error) {
		return locktest.Held{Release: func(context.Context) error { return nil }}, nil
	})
	return right(c)
}

// mine has the leases of one client process. Each lease has a count of entries: acquires minus
// releases.
type mine struct {
	mu   sync.Mutex
	rdb  *redis.Client
	held map[string]*entries
}

type entries struct {
	token string
	n     int
}

// enter acquires the lock, or enters it again if Redis says that this client still has the lock.
func (m *mine) enter(ctx context.Context, key string, ttl time.Duration) (*entries, error) {
	m.mu.Lock()
	e := m.held[key]
	m.mu.Unlock()
	if e != nil {
		if err := released(compareAndExpire.Run(ctx, m.rdb, []string{key}, e.token, ttl.Milliseconds()).Int64()); err == locktest.ErrNotHeld {
			return e, locktest.ErrBusy
		} else if err != nil {
			return e, err
		}
	} else {
		e = &entries{token: rand.Text()}
		if err := setNX(ctx, m.rdb, key, e.token, ttl); err != nil {
			return e, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.n++
	m.held[key] = e
	return e, nil
}

// leave takes back one entry. If that was the last entry, leave releases the lock.
func (m *mine) leave(ctx context.Context, key string, e *entries) error {
	m.mu.Lock()
	e.n--
	last := e.n == 0
	if last {
		delete(m.held, key)
	}
	m.mu.Unlock()
	if !last {
		return nil
	}
	return released(compareAndDelete.Run(ctx, m.rdb, []string{key}, e.token).Int64())
}

// reentrant is a correct reentrant lock: a client may acquire it again, and the last of its
// releases frees it.
func reentrant(c *locktest.Client) (locktest.Acquire, error) {
	m := &mine{rdb: connect(c), held: map[string]*entries{}}
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		e, err := m.enter(ctx, key, ttl)
		return locktest.Held{Token: e.token, Release: func(ctx context.Context) error { return m.leave(ctx, key, e) }}, err
	}, nil
}

// setOrMine takes a lock that is free or that the caller already has.
var setOrMine = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
return 0`)

// uncounted recognises its owner by a token per client, but does not count entries: the first
// release frees the lock.
func uncounted(c *locktest.Client) (locktest.Acquire, error) {
	rdb, owner := connect(c), rand.Text()
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		in, err := setOrMine.Run(ctx, rdb, []string{key}, owner, ttl.Milliseconds()).Int64()
		if err == nil && in == 0 {
			err = locktest.ErrBusy
		}
		return owned(rdb, key, owner), err
	}, nil
}

// polled is a lock that waits by trying again until its context ends.
func polled(c *locktest.Client) (locktest.Acquire, error) {
	try, err := right(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		for {
			held, err := try(ctx, key, ttl)
			if err != locktest.ErrBusy {
				return held, err
			}
			select {
			case <-ctx.Done():
				return held, locktest.ErrBusy
			case <-time.After(ttl / 100):
			}
		}
	}, err
}

// deaf is the lock polled, except that its Acquire ignores the context.
func deaf(c *locktest.Client) (locktest.Acquire, error) {
	acquire, err := polled(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		return acquire(context.WithoutCancel(ctx), key, ttl)
	}, err
}

// deleteAndTell deletes the key as compareAndDelete does, and publishes the release to waiters.
var deleteAndTell = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
  redis.call('publish', KEYS[1], 'released')
  return 1
end
return 0`)

// woken is a lock that waits until a release is published. If careful is set, it also tries again
// after it has subscribed, and then every thirtieth of the lease, because a lease may have ended
// without a release.
func woken(careful bool) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := connect(c)
		try := func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			token := rand.Text()
			return locktest.Held{Token: token, Release: func(ctx context.Context) error {
				return released(deleteAndTell.Run(ctx, rdb, []string{key}, token).Int64())
			}}, setNX(ctx, rdb, key, token, ttl)
		}
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			held, err := try(ctx, key, ttl)
			if err != locktest.ErrBusy {
				return held, err
			}
			releases := rdb.Subscribe(ctx, key)
			defer releases.Close()
			for again := careful; ctx.Err() == nil; {
				if again {
					if held, err = try(ctx, key, ttl); err != locktest.ErrBusy {
						return held, err
					}
				}
				m, _ := releases.ReceiveTimeout(ctx, ttl/30)
				_, told := m.(*redis.Message)
				again = told || careful
			}
			return held, locktest.ErrBusy
		}, nil
	}
}
