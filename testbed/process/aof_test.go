package process

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// TestAnAnswerIsInTheAppendOnlyFile checks that the append-only file grows before each answer:
// package live relies on that to know which commands the file has. The file is on a disk, where
// syncs take time.
func TestAnAnswerIsInTheAppendOnlyFile(t *testing.T) {
	for _, durability := range []testbed.Durability{testbed.EverySec, testbed.Always} {
		t.Run(string(durability), func(t *testing.T) {
			temp := t.TempDir()
			tb, err := New(Options{Temp: temp})
			if err != nil {
				t.Fatal(err)
			}
			setup := testbed.Setup{
				Topology: testbed.Single, Durability: durability, Clients: 1,
				CommandTimeout: time.Minute, Clock: tb.Clock(), Commands: func(history.Command) {},
			}
			err = tb.Run(t.Context(), setup, func(ctx context.Context, e testbed.Env) error {
				return answersAreKept(ctx, t, e, temp)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func answersAreKept(ctx context.Context, t *testing.T, e testbed.Env, temp string) error {
	c := e.Client(0).Locks().Nodes[0].(*redis.Client)
	if err := c.Set(ctx, "k", 0, 0).Err(); err != nil {
		return err
	}
	pattern := filepath.Join(temp, "*", "n0", "appendonlydir", "*.incr.aof") // the layout since Redis 7
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file at %s", files, err, pattern)
	}
	size, answers := int64(0), 0
	for end := e.Now() + 2500*time.Millisecond; e.Now() < end; answers++ {
		if err := c.Set(ctx, "k", answers, 0).Err(); err != nil {
			return err
		}
		info, err := os.Stat(files[0])
		if err != nil {
			return err
		}
		if info.Size() == size {
			t.Fatalf("answer %d is not in the file", answers)
		}
		size = info.Size()
	}
	if answers == 0 {
		t.Error("got no answer")
	}
	return nil
}
