package locktest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locktest"
)

// redigoRelease deletes the key if it has the token, as compareAndDelete does for go-redis.
var redigoRelease = redis.NewScript(1, `
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// onRedigo is a correct lock on redigo.
func onRedigo(c *locktest.Client) (locktest.Acquire, error) {
	pool := &redis.Pool{MaxIdle: 2, DialContext: func(ctx context.Context) (redis.Conn, error) {
		return redis.DialContext(ctx, "tcp", c.Addrs[0], redis.DialContextFunc(c.Dial), redis.DialReadTimeout(time.Second))
	}}
	c.Cleanup(func() { _ = pool.Close() })
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		conn, err := pool.GetContext(ctx)
		if err != nil {
			return locktest.Held{}, err
		}
		defer conn.Close()
		token := rand.Text()
		_, err = redis.String(redis.DoContext(conn, ctx, "SET", key, token, "NX", "PX", ttl.Milliseconds()))
		if errors.Is(err, redis.ErrNil) {
			err = locktest.ErrBusy
		}
		return locktest.Held{Token: token, Release: func(ctx context.Context) error {
			conn, err := pool.GetContext(ctx)
			if err != nil {
				return err
			}
			defer conn.Close()
			return released(redis.Int64(redigoRelease.DoContext(ctx, conn, key, token)))
		}}, err
	}, nil
}

// undialed is a lock whose Redis client does not use Client.Dial.
func undialed(c *locktest.Client) (locktest.Acquire, error) {
	rdb := goredis.NewClient(&goredis.Options{Addr: c.Addrs[0]})
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		return locktest.Held{Release: func(ctx context.Context) error { return rdb.Del(ctx, key).Err() }},
			setNX(ctx, rdb, key, strconv.Itoa(1), ttl)
	}, nil
}
