package external

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// TestNobodyElsesCommandsAreLogged wants that no server of somebody else's is sent
// MONITOR, which tells what everybody does there.
func TestNobodyElsesCommandsAreLogged(t *testing.T) {
	s := startRedis(t)
	dir := filepath.Join(t.TempDir(), "logs")
	err := run(t, Options{Addrs: []string{s.Addr()}}, testbed.Setup{Monitor: dir}, func(ctx context.Context, e testbed.Env) error {
		return first(e).Set(ctx, "k", "1", 0).Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	stats, err := admin(t, &redis.Options{Addr: s.Addr()}).Info(t.Context(), "commandstats").Result()
	if err != nil || !strings.Contains(stats, "cmdstat_set:") || strings.Contains(stats, "cmdstat_monitor:") {
		t.Errorf("got %s, %v, want SET and no MONITOR", stats, err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s: got %v, want it not made", dir, err)
	}
}
