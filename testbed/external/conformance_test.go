package external

import (
	"testing"

	"github.com/lockstorm/lockstorm/internal/redisserver/redistest"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

func TestExternalKeepsWhatTestbedsPromise(t *testing.T) {
	one := redistest.Test(t)
	testbedtest.Run(t, func(t testing.TB) testbed.Testbed {
		tb, err := New(t.Context(), Options{Addrs: []string{one.Addr()}, Temp: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		return tb
	}, false)
}
