// Package ports has the lock algorithms of public projects, ported to Go. Each algorithm has two
// versions: with a bug, and with the bug fixed. Each file has one bug.
package ports

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// lock is a lock on one Redis. Each function reports success. False means that somebody else has
// the lock, or that the caller no longer has it.
type lock struct {
	acquire func(ctx context.Context, key, token string, ttl time.Duration) (bool, error)
	release func(ctx context.Context, key, token string) (bool, error)
	extend  func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) // nil: the lock cannot extend
	// watch renews the lease in the background until stop is called; nil: nobody renews the lease.
	// A lock that reports a lost lease calls lost, at most once.
	watch func(ctx context.Context, key, token string, ttl time.Duration, lost func()) (stop func())
}

// on makes a Subject of a lock that uses go-redis with its default options.
func on(lockOn func(rdb *redis.Client) lock) locktest.Subject {
	return timed(func(rdb *redis.Client, _ func() time.Time) lock { return lockOn(rdb) })
}

// timed makes a Subject of a lock that also reads the client's wall clock, by calling now.
func timed(lockOn func(rdb *redis.Client, now func() time.Time) lock) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		l := lockOn(rdb, c.Now)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			return acquired(ctx, l, c, key, ttl)
		}, nil
	}
}

func acquired(ctx context.Context, l lock, c *locktest.Client, key string, ttl time.Duration) (locktest.Held, error) {
	token := rand.Text()
	if ok, err := l.acquire(ctx, key, token, ttl); !ok || err != nil {
		return locktest.Held{}, unless(ok, err, locktest.ErrBusy)
	}
	held, stop := locktest.Held{Token: token}, func() {}
	if l.watch != nil {
		lost := make(chan struct{})
		held.Lost = lost
		stop = l.watch(c.Context, key, token, ttl, func() { close(lost) })
	}
	held.Release = func(ctx context.Context) error {
		stop()
		ok, err := l.release(ctx, key, token)
		return unless(ok, err, locktest.ErrNotHeld)
	}
	if l.extend != nil {
		held.Extend = func(ctx context.Context) error {
			ok, err := l.extend(ctx, key, token, ttl)
			return unless(ok, err, locktest.ErrNotHeld)
		}
	}
	return held, nil
}

// unless returns err if err is not nil. Otherwise it returns nil if ok is set, and the error in the
// parameter no if ok is not set.
func unless(ok bool, err, no error) error {
	if err == nil && !ok {
		return no
	}
	return err
}

// did reads the reply of a script or of DEL: 1 means success.
func did(n int64, err error) (bool, error) { return n == 1, err }

// setNX acquires the lock as redis.io describes it: SET key token NX PX ttl.
func setNX(rdb *redis.Client) func(context.Context, string, string, time.Duration) (bool, error) {
	return func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
		return rdb.SetNX(ctx, key, token, ttl).Result()
	}
}

// compareAndDelete releases the lock as redis.io describes it.
var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

func deleteOwn(rdb *redis.Client) func(context.Context, string, string) (bool, error) {
	return func(ctx context.Context, key, token string) (bool, error) {
		return did(compareAndDelete.Run(ctx, rdb, []string{key}, token).Int64())
	}
}

var compareAndExpire = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)

func extendOwn(rdb *redis.Client) func(context.Context, string, string, time.Duration) (bool, error) {
	return func(ctx context.Context, key, token string, ttl time.Duration) (bool, error) {
		return did(compareAndExpire.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int64())
	}
}

// deleteAny releases the lock by deleting the key, whoever owns it.
func deleteAny(rdb *redis.Client) func(context.Context, string, string) (bool, error) {
	return func(ctx context.Context, key, _ string) (bool, error) { return did(rdb.Del(ctx, key).Result()) }
}

// getThenDelete releases the lock by a GET that compares the token, and then a DEL. The key may get
// another owner between the two commands.
func getThenDelete(rdb *redis.Client) func(context.Context, string, string) (bool, error) {
	return func(ctx context.Context, key, token string) (bool, error) {
		if owner, err := get(ctx, rdb, key); owner != token || err != nil {
			return false, err
		}
		return did(rdb.Del(ctx, key).Result())
	}
}

// get returns the key's value, or "" if there is no key.
func get(ctx context.Context, rdb redis.Cmdable, key string) (string, error) {
	value, err := rdb.Get(ctx, key).Result()
	return value, ignoreNil(err)
}

// ignoreNil returns err, or nil if err only says that there is no key.
func ignoreNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// every calls renew at each interval until stop is called, the client process ends or renew returns
// false. If wait is set, stop waits for a running renewal.
func every(ctx context.Context, interval time.Duration, wait bool, renew func(context.Context) bool) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if !renew(context.WithoutCancel(ctx)) {
				return
			}
		}
	}()
	return func() {
		cancel()
		if wait {
			<-done
		}
	}
}
