package external

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

// empty is the testbed on a server that nobody else uses. The keys of testbedtest do not have the names
// of locks, so empty removes them.
type empty struct {
	*Testbed
	all *redis.Client
}

func (e empty) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	if err := e.all.FlushAll(ctx).Err(); err != nil {
		return err
	}
	return e.Testbed.Run(ctx, s, body)
}

func TestExternalKeepsWhatTestbedsPromise(t *testing.T) {
	one := redistest.Test(t)
	testbedtest.Run(t, func(t testing.TB) testbed.Testbed {
		tb, err := New(t.Context(), Options{Addrs: []string{one.Addr()}, Own: true, Temp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c := redis.NewClient(&redis.Options{Addr: one.Addr()})
		t.Cleanup(func() { _ = c.Close() })
		return empty{tb, c}
	}, false)
}
