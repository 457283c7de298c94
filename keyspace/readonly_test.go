package keyspace

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/internal/redisserver"
)

// The test asks a real Redis for the flags of the commands. It skips commands that are newer than the server.
func TestReadOnlyCommandsAreThoseOfRedis(t *testing.T) {
	s, err := redisserver.Start(t.Context(), redisserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	known, err := c.Command(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	containers := []string{"OBJECT", "XINFO"} // their subcommands have the flags
	if known["get"] == nil {
		t.Fatal("Redis does not know GET")
	}
	for name := range readOnly {
		info := known[strings.ToLower(name)]
		if info != nil && !info.ReadOnly && !slices.Contains(containers, name) {
			t.Errorf("%s is not read-only for Redis: %v", name, info.Flags)
		}
	}
}
