package process

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/testbedtest"
)

func TestANodeThatRefusesToBeLookedAtIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(context.Context, *redis.Client) error
		want  string
	}{
		"acl": {func(ctx context.Context, r *redis.Client) error {
			return r.Do(ctx, "ACL", "SETUSER", "default", "-type").Err()
		}, "NOPERM"},
		"large": {func(ctx context.Context, r *redis.Client) error {
			return r.Set(ctx, "large", strings.Repeat("x", 2<<20), 0).Err()
		}, `key "large" has more than 1048576 bytes`},
		"elements": {func(ctx context.Context, r *redis.Client) error {
			return r.Eval(ctx, `for i = 1, 1001 do redis.call("sadd", KEYS[1], "m" .. i) end`, []string{"s"}).Err()
		}, `key "s" has more than`},
		"many": {func(ctx context.Context, r *redis.Client) error {
			return r.Eval(ctx, `for i = 1, 1001 do redis.call("set", "k" .. i, i) end`, nil).Err()
		}, "1001 keys, expected 1000 at most"},
		"database": {func(ctx context.Context, r *redis.Client) error {
			return r.Do(ctx, "SELECT", "3").Err()
		}, "c0 uses its database 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
				err := c.spoil(ctx, first(e))
				if err != nil && !errors.Is(err, redis.Nil) {
					return err
				}
				if err := first(e).Set(ctx, "after", "v", 0).Err(); err != nil {
					return err
				}
				w.mu.Lock()
				defer w.mu.Unlock()
				if err := w.unseen["n0"]; err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want one line with %q", err, c.want)
				}
				return nil
			})
			for _, c := range w.changes {
				if c.Key == "after" {
					t.Errorf("what is unseen was told: %s", testbedtest.Line(c))
				}
			}
		})
	}
}

// TestALongValueIsKeptByItsDigest checks that a change of a long value's last byte is recorded.
func TestALongValueIsKeptByItsDigest(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		return errors.Join(first(e).Set(ctx, "k", long+"1", 0).Err(), first(e).Set(ctx, "k", long+"2", 0).Err())
	})
	if len(w.changes) != 2 || len(w.changes[1].After.Value) > 2*history.MaxValue {
		t.Errorf("got %d changes: %.200v", len(w.changes), w.changes.Lines())
	}
}

// TestAFrozenNodeIsNotWaitedForForEver stops a server by SIGSTOP, without the testbed's knowledge,
// and checks that the trial ends all the same, before a command would time out.
func TestAFrozenNodeIsNotWaitedForForEver(t *testing.T) {
	var frozen int
	began := time.Now()
	const timeout = 5 * time.Minute
	watch(t, testbed.Setup{Topology: testbed.Single, CommandTimeout: timeout}, func(ctx context.Context, e testbed.Env, w *watched) error {
		frozen = mustServerOf(ctx, t, e, 0)
		if err := first(e).Set(ctx, "k", "v", 50*time.Millisecond).Err(); err != nil {
			return err
		}
		if err := syscall.Kill(frozen, syscall.SIGSTOP); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // meanwhile k expires, and the observer asks the frozen node for it
		began = time.Now()
		return nil
	})
	if took := time.Since(began); took >= timeout {
		t.Errorf("the end of the trial took %v", took)
	}
}

// TestABlockedPopIsToldByItself checks the changes by two pops and the commands around them. The
// first pop waits, the second does not.
func TestABlockedPopIsToldByItself(t *testing.T) {
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r, other := first(e), e.Client(1).Locks().Nodes[0]
		popped := make(chan error, 1)
		go func() { popped <- r.BLPop(ctx, time.Minute, "l").Err() }()
		time.Sleep(50 * time.Millisecond)
		err := errors.Join(
			other.Set(ctx, "k", "v", 0).Err(), // the pop cannot have made this change
			other.RPush(ctx, "l", "a", "b").Err(),
			<-popped,
			r.BLPop(ctx, time.Minute, "l").Err(),
		)
		time.Sleep(50 * time.Millisecond)
		return errors.Join(err, r.Del(ctx, "k").Err())
	})
	got := w.changes.Lines()
	for i, l := range got {
		got[i] = strings.ReplaceAll(l, "unknown", "command") // unknown: both commands may still be running
	}
	want := []string{"n0 k: command: - → string v", "n0 l: command: - → list b,", "n0 l: command: list b, → -", "n0 k: command: string v → -"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(w.changes.Lines(), "\n"), strings.Join(want, "\n"))
	}
}
