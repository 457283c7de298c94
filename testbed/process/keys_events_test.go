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
)

func TestARestartShowsWhatWasKept(t *testing.T) {
	for durability, want := range map[testbed.Durability][]string{
		testbed.Volatile: {"n0 k: restart: string v mortal → -", "n0 soon: restart: string v mortal → -"},
		testbed.Always:   {"n0 soon: expiry: string v mortal → -"},
	} {
		t.Run(string(durability), func(t *testing.T) {
			w := watch(t, testbed.Setup{Topology: testbed.Single, Durability: durability}, func(ctx context.Context, e testbed.Env, w *watched) error {
				r, nodes := first(e), e.(testbed.Nodes)
				err := errors.Join(
					r.Set(ctx, "k", "v", time.Hour).Err(),
					r.Set(ctx, "soon", "v", 100*time.Millisecond).Err(),
					nodes.Kill(ctx, "n0", nil),
				)
				time.Sleep(150 * time.Millisecond)
				if _, rerr := nodes.Restart(ctx, "n0"); err != nil || rerr != nil {
					return errors.Join(err, rerr)
				}
				return r.Set(ctx, "after", "v", 0).Err()
			})
			w.want(t, slices.Concat([]string{
				"n0 k: command: - → string v mortal", "n0 soon: command: - → string v mortal",
			}, want, []string{"n0 after: command: - → string v"})...)
		})
	}
}

func TestAClockThatIsSetMovesTheEndsOfLives(t *testing.T) {
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r, clocks := first(e), e.(testbed.NodeClocks)
		err := errors.Join(r.Set(ctx, "k", "v", time.Hour).Err(), r.Set(ctx, "for-ever", "v", 0).Err())
		for _, offset := range []time.Duration{-time.Minute, 2 * time.Hour} {
			_, serr := clocks.SkewNode(ctx, "n0", offset, nil)
			err = errors.Join(err, serr)
		}
		return err
	})
	w.want(t,
		"n0 k: command: - → string v mortal", "n0 for-ever: command: - → string v",
		"n0 k: clock: string v mortal → string v mortal", "n0 k: clock: string v mortal → string v mortal",
		"n0 k: expiry: string v mortal → -",
	)
	// Both ends are read on the node's clock, which is known more coarsely on a busy machine: a second tells a minute
	// from none.
	life, later := w.changes[0].After.Expires, w.changes[2].After.Expires
	if moved := later - life - time.Minute; moved.Abs() > time.Second {
		t.Errorf("a clock set back by a minute moved the end from %v to %v", life, later)
	}
	if past := w.changes[3].After.Expires; past != 1 {
		t.Errorf("a life that was over before the trial's beginning ends at %v, want the least", past)
	}
}

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
					t.Errorf("what is unseen was told: %s", line(c))
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
		t.Errorf("got %d changes: %.200v", len(w.changes), w.told())
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

func TestAPausedNodeIsLookedAtWhenItGoesOn(t *testing.T) {
	w := watch(t, testbed.Setup{Topology: testbed.Single}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r := first(e)
		if err := r.Set(ctx, "k", "v", 50*time.Millisecond).Err(); err != nil {
			return err
		}
		resume, err := e.(testbed.Nodes).Pause(ctx, "n0")
		if err != nil {
			return err
		}
		waits := make(chan error, 1)
		go func() { waits <- r.SetNX(ctx, "k", "w", 0).Err() }()
		time.Sleep(100 * time.Millisecond)
		_, err = resume(ctx)
		return errors.Join(err, <-waits)
	})
	w.want(t, "n0 k: command: - → string v mortal", "n0 k: expiry: string v mortal → -", "n0 k: command: - → string w")
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
	got := w.told()
	for i, l := range got {
		got[i] = strings.ReplaceAll(l, "unknown", "command") // unknown: both commands may still be running
	}
	want := []string{"n0 k: command: - → string v", "n0 l: command: - → list b,", "n0 l: command: list b, → -", "n0 k: command: string v → -"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(w.told(), "\n"), strings.Join(want, "\n"))
	}
}

// TestASlotThatMovesTakesItsKeysAlong checks that the changes on both masters are recorded.
func TestASlotThatMovesTakesItsKeysAlong(t *testing.T) {
	w := watch(t, testbed.Setup{Topology: testbed.Cluster}, func(ctx context.Context, e testbed.Env, w *watched) error {
		c := e.Client(0).Locks().Nodes[0]
		err := errors.Join(c.Set(ctx, "lock-0", "v", time.Hour).Err(), c.Set(ctx, "{lock-0}:other", "v", 0).Err())
		if err != nil {
			return err
		}
		finish, err := e.(testbed.Slots).Migrate(ctx, "n0", "n1", nil)
		if err != nil {
			return err
		}
		err = c.Set(ctx, "lock-0", "w", redis.KeepTTL).Err() // the client is redirected to n1
		_, ferr := finish(ctx)
		return errors.Join(err, ferr, c.Del(ctx, "lock-0").Err())
	})
	want := []string{
		"n0 lock-0: command: - → string v mortal", "n0 {lock-0}:other: command: - → string v",
		"n0 lock-0: migration: string v mortal → -", "n0 {lock-0}:other: migration: string v → -",
		"n1 lock-0: migration: - → string v mortal", "n1 {lock-0}:other: migration: - → string v",
		"n1 lock-0: command: string v mortal → string w mortal", "n1 lock-0: command: string w mortal → -",
	}
	w.want(t, want...)
}

// TestAnElectionShowsWhatTheHeirHad kills the primary that Sentinels watch, and checks that the key
// changes show the new primary's keys.
func TestAnElectionShowsWhatTheHeirHad(t *testing.T) {
	w := watch(t, testbed.Setup{Topology: testbed.Sentinel, CommandTimeout: time.Second}, func(ctx context.Context, e testbed.Env, w *watched) error {
		r, nodes := e.Client(0).Locks().Nodes[0], e.(testbed.Nodes)
		if err := errors.Join(r.Set(ctx, "k", "v", 0).Err(), r.Do(ctx, "WAIT", testbed.Replicas, 60_000).Err(), nodes.Kill(ctx, "n0", nil)); err != nil {
			return err
		}
		if err := nodes.Promote(ctx, "n1"); err != nil {
			return err
		}
		for {
			err := r.Set(ctx, "k", "w", 0).Err()
			if err == nil || ctx.Err() != nil {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	w.want(t, "n0 k: command: - → string v", "n1 k: promotion: - → string v", "n1 k: command: string v → string w")
}
