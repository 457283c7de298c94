package ports

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// gozeroReentry is a bug in RedisLock of go-zero 1.3.1, core/stores/redis/redislock.go: a re-entry
// only increases a local counter, so it succeeds even after the lease has ended.
var gozeroReentry = bug.Bug{
	Name:     "go-zero-reentry",
	Title:    "zeromicro/go-zero #1704",
	Link:     "https://github.com/zeromicro/go-zero/pull/1704",
	FixedIn:  "1.3.2",
	Language: "Go",
	Story:    "Re-entry increased a local counter and sent nothing to Redis: it succeeded even after the lease had ended and another client had the lock. (The fix removed the counter: re-entry prolongs the lease, and the first release frees the lock.)",
	Options:  locktest.Options{Reentrant: true},
	Before:   gozero(func(rdb *redis.Client) reentrant { return &gozeroCounted{rdb: rdb, id: rand.Text()} }),
	After:    gozero(func(rdb *redis.Client) reentrant { return &gozeroAsked{rdb: rdb, id: rand.Text()} }),
	Fault:    "slow-work", Flaw: "reentrancy by lease-outlived",
	OtherBugsLeft: true,
}

// reentrant is a lock that its holder may acquire again.
type reentrant interface {
	Acquire(ctx context.Context, key string, ttl time.Duration) (bool, error)
	Release(ctx context.Context, key string) (bool, error)
}

// gozero makes a Subject of a service that has one RedisLock for each name.
func gozero(make func(*redis.Client) reentrant) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
		c.Cleanup(func() { _ = rdb.Close() })
		var mu sync.Mutex
		locks := map[string]reentrant{}
		named := func(key string) reentrant {
			mu.Lock()
			defer mu.Unlock()
			if locks[key] == nil {
				locks[key] = make(rdb)
			}
			return locks[key]
		}
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			l := named(key)
			ok, err := l.Acquire(ctx, key, ttl)
			if err != nil || !ok {
				return locktest.Held{}, unless(ok, err, locktest.ErrBusy)
			}
			return locktest.Held{Release: func(ctx context.Context) error {
				ok, err := l.Release(ctx, key)
				return unless(ok, err, locktest.ErrNotHeld)
			}}, nil
		}, nil
	}
}

// gozeroCounted counts how often the process has acquired the lock. Only the first acquire and the
// last release send a command.
type gozeroCounted struct {
	rdb   *redis.Client
	id    string
	count atomic.Int32
}

func (l *gozeroCounted) Acquire(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	if l.count.Add(1) > 1 {
		return true, nil
	}
	ok, err := l.rdb.SetNX(ctx, key, l.id, ttl+time.Second).Result()
	if !ok || err != nil {
		l.count.Add(-1)
	}
	return ok, err
}

func (l *gozeroCounted) Release(ctx context.Context, key string) (bool, error) {
	if l.count.Add(-1) > 0 {
		return true, nil
	}
	return deleteOwn(l.rdb)(ctx, key, l.id)
}

// gozeroAsked renews the lease if the process acquires the lock again. It counts nothing.
type gozeroAsked struct {
	rdb *redis.Client
	id  string
}

var acquireOrRenew = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
  return 'OK'
end
return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])`)

func (l *gozeroAsked) Acquire(ctx context.Context, key string, ttl time.Duration) (bool, error) {
	const tolerance = 500 * time.Millisecond
	err := acquireOrRenew.Run(ctx, l.rdb, []string{key}, l.id, (ttl + tolerance).Milliseconds()).Err()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return err == nil, err
}

func (l *gozeroAsked) Release(ctx context.Context, key string) (bool, error) {
	return deleteOwn(l.rdb)(ctx, key, l.id)
}
