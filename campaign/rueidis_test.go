//go:build !concurrent

package campaign

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockstorm/lockstorm/locks"
)

// TestACampaignHasNoDataRace builds without this library, which takes longer to compile than all of lockstorm.
func init() {
	libraries["test-rueidis"] = rueidisDoer
	registerLibrary("test-rueidis", rueidisDoer, (*locks.Client).Token)
}

func rueidisDoer(c *locks.Client) (doer, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: c.Addrs, DisableRetry: true, ConnWriteTimeout: 500 * time.Millisecond,
		DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return c.Dial(ctx, "tcp", addr)
		},
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, args ...string) (any, error) {
		reply, err := client.Do(ctx, client.B().Arbitrary(args...).Build()).ToAny()
		if rueidis.IsRedisNil(err) {
			return nil, nil
		}
		return reply, err
	}, nil
}
