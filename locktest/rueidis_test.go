//go:build !concurrent

package locktest_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockstorm/lockstorm/locktest"
)

// The tests in a binary with the race detector build without this library, which takes longer to compile than
// all of lockstorm.
func init() {
	scenes["rueidis"] = func(t *testing.T) {
		locktest.Run(t, onRueidis, few("none", "client-pause", "lost-reply", "client-crash"))
	}
}

var rueidisRelease = rueidis.NewLuaScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// onRueidis is a correct lock on rueidis.
func onRueidis(c *locktest.Client) (locktest.Acquire, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: c.Addrs, ForceSingleClient: true, DisableCache: true,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return c.Dial(ctx, "tcp", addr)
		},
	})
	if err != nil {
		return nil, err
	}
	c.Cleanup(client.Close)
	return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
		token := rand.Text()
		err := client.Do(ctx, client.B().Set().Key(key).Value(token).Nx().PxMilliseconds(ttl.Milliseconds()).Build()).Error()
		if rueidis.IsRedisNil(err) {
			err = locktest.ErrBusy
		}
		return locktest.Held{Token: token, Release: func(ctx context.Context) error {
			return released(rueidisRelease.Exec(ctx, client, []string{key}, []string{token}).AsInt64())
		}}, err
	}, nil
}
