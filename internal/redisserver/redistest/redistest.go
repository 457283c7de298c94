// Package redistest gives tests a redis-server of their own.
package redistest

import (
	"context"
	"os"
	"testing"

	"github.com/lockstorm/lockstorm/internal/redisserver"
)

// Test starts a redis-server for one test, with additional command-line arguments if given, and
// closes the server when the test ends. The test fails if there is no redis-server.
func Test(t testing.TB, args ...string) *redisserver.Server {
	t.Helper()
	s, err := redisserver.Start(context.Background(), redisserver.Options{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close redis-server: %v", err)
		}
	})
	return s
}

// Memory returns a directory for one test, in memory if the system has such a file system. On a
// busy disk Redis delays its writes.
func Memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lockstorm-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
