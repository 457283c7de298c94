package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstorm/lockstorm/locktest"
)

// connect makes the Redis client of a service: go-redis with its defaults.
func connect(c *locktest.Client) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: c.Addrs[0], Dialer: c.Dial})
	c.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// compareAndDelete removes the key if it has the token.
var compareAndDelete = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// setNX sets the key to the token, with a TTL. The error is ErrBusy if the key exists.
func setNX(ctx context.Context, rdb *redis.Client, key, token string, ttl time.Duration) error {
	ok, err := rdb.SetNX(ctx, key, token, ttl).Result()
	if err == nil && !ok {
		return locktest.ErrBusy
	}
	return err
}

// released turns the number of keys that a release removed, or an extension prolonged, into an error:
// ErrNotHeld if it is 0.
func released(n int64, err error) error {
	if err == nil && n == 0 {
		return locktest.ErrNotHeld
	}
	return err
}

// owned is the Held of a key with the token. Its release removes the key if it still has the token.
func owned(rdb *redis.Client, key, token string) locktest.Held {
	return locktest.Held{Token: token, Release: func(ctx context.Context) error {
		return released(compareAndDelete.Run(ctx, rdb, []string{key}, token).Int64())
	}}
}

// right is a lock without a mistake.
func right(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token := rand.Text()
		return owned(rdb, key, token), setNX(ctx, rdb, key, token, ttl)
	}, nil
}

// bareDelete releases the lock by deleting the key, whoever owns it.
func bareDelete(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		return locktest.Held{Release: func(ctx context.Context) error {
			return released(rdb.Del(ctx, key).Result())
		}}, setNX(ctx, rdb, key, "1", ttl)
	}, nil
}

// everybody is a lock that overwrites the key, so that every acquire succeeds.
func everybody(c *locktest.Client) (locktest.Acquire, error) {
	rdb := connect(c)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token := rand.Text()
		return owned(rdb, key, token), rdb.Set(ctx, key, token, ttl).Err()
	}, nil
}

// heartbeat is a lock that renews its lease three times per lease until the release. A holder
// learns that the lease is lost (Held.Lost) when a whole lease plus late has passed since the
// acquire, or the last answered renewal, was sent. The lock is correct if late is 0.
func heartbeat(late time.Duration) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		// In the default mode, a handshake under delay would hold a mutex that Close waits for.
		rdb := redis.NewClient(&redis.Options{
			Addr: c.Addrs[0], Dialer: c.Dial, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		c.Cleanup(func() { _ = rdb.Close() })
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			asked, token := time.Now(), rand.Text()
			if err := setNX(ctx, rdb, key, token, ttl); err != nil {
				return locktest.Held{Token: token}, err
			}
			renewing, stop := context.WithCancel(c.Context)
			lost := make(chan struct{})
			over := time.AfterFunc(time.Until(asked.Add(ttl+late)), func() { close(lost) })
			go func() {
				defer over.Stop()
				tick := time.NewTicker(ttl / 3)
				defer tick.Stop()
				for {
					select {
					case <-renewing.Done():
						return
					case <-tick.C:
					}
					sent := time.Now()
					if renew(renewing, rdb, key, token, ttl) == nil && over.Stop() {
						over.Reset(time.Until(sent.Add(ttl + late)))
					}
				}
			}()
			return locktest.Held{Token: token, Lost: lost, Release: func(ctx context.Context) error {
				stop()
				return released(compareAndDelete.Run(ctx, rdb, []string{key}, token).Int64())
			}}, nil
		}, nil
	}
}

// renew prolongs the key's TTL to the whole lease if the key has the token. It waits for at most a
// quarter of the lease.
func renew(ctx context.Context, rdb *redis.Client, key, token string, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, ttl/4)
	defer cancel()
	return released(compareAndExpire.Run(ctx, rdb, []string{key}, token, ttl.Milliseconds()).Int64())
}

var errDown = errors.New("the service is not configured")
