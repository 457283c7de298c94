package process

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

// TestANodesClockIsItsOwn checks that a jump of a node's clock holds for the next command, on that
// node only, and also after a restart.
func TestANodesClockIsItsOwn(t *testing.T) {
	const life, jump = 30 * time.Second, time.Minute
	setup := testbed.Setup{Topology: testbed.Independent, Nodes: 2}
	err := run(t, setup, func(ctx context.Context, e testbed.Env) error {
		n0, n1 := e.Client(0).Locks().Nodes[0].(*redis.Client), e.Client(0).Locks().Nodes[1].(*redis.Client)
		for range 3 {
			for _, r := range []*redis.Client{n0, n1} {
				if err := r.Set(ctx, "k", "1", life).Err(); err != nil {
					return err
				}
			}
			wantMoved(ctx, t, e, jump, 1)
			if n, err := n0.Exists(ctx, "k").Result(); n != 0 || err != nil {
				t.Errorf("a key of %v after a jump of %v: got %d, %v, want it gone", life, jump, n, err)
			}
			if ttl, err := n1.PTTL(ctx, "k").Result(); ttl < life/2 || err != nil {
				t.Errorf("on the other node: got a life of %v, %v, want about %v", ttl, err, life)
			}
			wantMoved(ctx, t, e, 0, 0) // no key is left to move
			if err := n0.Set(ctx, "k", "1", life).Err(); err != nil {
				return err
			}
			wantMoved(ctx, t, e, -jump, 1)
			if ttl, err := n0.PTTL(ctx, "k").Result(); ttl < jump || ttl > jump+life || err != nil {
				t.Errorf("after a jump of %v: got a life of %v, %v, want more than %v", -jump, ttl, err, jump)
			}
			wantMoved(ctx, t, e, 0, 1)
		}
		return survivesRestart(ctx, t, e, n0)
	})
	if err != nil {
		t.Error(err)
	}
}

// wantMoved makes n0's clock jump and checks how many expiries the jump moved.
func wantMoved(ctx context.Context, t *testing.T, e testbed.Env, offset time.Duration, want int) {
	t.Helper()
	if keys, err := e.(testbed.NodeClocks).SkewNode(ctx, "n0", offset, nil); keys != want || err != nil {
		t.Errorf("jump to %v: it moved %d lives, %v, want %d", offset, keys, err, want)
	}
}

// survivesRestart checks that the clock of a node that is down can be set, and that the node
// starts with that clock.
func survivesRestart(ctx context.Context, t *testing.T, e testbed.Env, n0 *redis.Client) error {
	nodes := e.(testbed.Nodes)
	if err := nodes.Kill(ctx, "n0", nil); err != nil {
		return err
	}
	wantMoved(ctx, t, e, time.Hour, 0)
	if _, err := nodes.Restart(ctx, "n0"); err != nil {
		return err
	}
	shown, err := n0.Time(ctx).Result()
	if ahead := time.Until(shown); ahead < time.Hour-time.Minute || err != nil {
		t.Errorf("after a restart: its clock is ahead by %v, %v, want an hour", ahead, err)
	}
	return nil
}

func TestWithoutAShimTheTestbedSaysWhatItLacks(t *testing.T) {
	for name, without := range map[string]func(*testing.T){
		"no compiler": func(t *testing.T) { t.Setenv("XDG_CACHE_HOME", t.TempDir()); t.Setenv("PATH", t.TempDir()) },
		"missing":     func(t *testing.T) { t.Setenv(clockshim.PathVariable, filepath.Join(t.TempDir(), "none.so")) },
	} {
		tb, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			without(t)
			if slices.Contains(tb.Capabilities(), testbed.CanNodeClocks) {
				t.Error("it says that it has node-clocks")
			}
			why := tb.Lacks()[testbed.CanNodeClocks]
			if !strings.Contains(why, clockshim.PathVariable) || strings.Contains(why, "\n") {
				t.Errorf("got %q, want one line that names $%s", why, clockshim.PathVariable)
			}
		})
	}
}

func TestAClockShimWithoutEffectIsNoticed(t *testing.T) {
	not := filepath.Join(t.TempDir(), "not-a-library.so")
	if err := os.WriteFile(not, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(clockshim.PathVariable, not)
	err := run(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env) error {
		_, err := e.(testbed.NodeClocks).SkewNode(ctx, "n0", time.Minute, nil)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "the clock shim has no effect") {
		t.Errorf("got %v, want it said that the shim has no effect", err)
	}
}
