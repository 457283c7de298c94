package external

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/internal/redisserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startRedis starts a redis-server that is "somebody's".
func startRedis(t testing.TB, args ...string) *redisserver.Server {
	t.Helper()
	s, err := redisserver.Start(t.Context(), redisserver.Options{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
