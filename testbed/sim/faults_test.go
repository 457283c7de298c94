package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// in runs body in a simulation with this setup and returns the commands.
func in(t *testing.T, s testbed.Setup, body func(context.Context, *simulation) error) []history.Command {
	t.Helper()
	commands, err := trial(t, s, func(ctx context.Context, env testbed.Env) error { return body(ctx, env.(*simulation)) })
	if err != nil {
		t.Fatal(err)
	}
	return commands
}

func (w *simulation) redis(client int) *redis.Client {
	return w.Client(client).Locks().Nodes[0].(*redis.Client)
}

func want(what string, got, want any) error {
	if got != want {
		return fmt.Errorf("%s: got %v, want %v", what, got, want)
	}
	return nil
}

// A connection is a stream: if it loses a message, it loses all later messages, too, even after
// the end of the cut.
func TestNothingOvertakesWhatWasLostOnItsConnection(t *testing.T) {
	lost := 0
	for after := time.Duration(0); after < 400*time.Microsecond; after += time.Microsecond {
		commands := in(t, testbed.Setup{Seed: 1, CommandTimeout: 100 * time.Millisecond}, func(ctx context.Context, w *simulation) error {
			undo, err := w.Cut(ctx, testbed.Link{From: "c0", To: "n0"}, testbed.Upstream)
			if err != nil {
				return err
			}
			time.AfterFunc(after, func() { undo(ctx) })
			w.redis(0).Pipelined(ctx, func(p redis.Pipeliner) error { // may fail
				p.Do(ctx, "SET", "first", 1)
				p.Do(ctx, "SET", "second", 1)
				return nil
			})
			return nil
		})
		arrived := map[string]bool{}
		for _, c := range commands {
			if c.N > 0 {
				arrived[string(c.Args[1])] = c.Arrived > 0
			}
		}
		if !arrived["first"] {
			lost++
		}
		if arrived["second"] && !arrived["first"] {
			t.Errorf("cut for %v: the second command arrived, and the first did not", after)
		}
	}
	if lost == 0 {
		t.Error("no cut lost anything")
	}
}

func TestWhatANodeCannotDoFailsTheTrial(t *testing.T) {
	_, err := trial(t, testbed.Setup{Seed: 1}, func(ctx context.Context, env testbed.Env) error {
		env.Client(0).Locks().Nodes[0].Do(ctx, "XADD", "k", "*", "f", "v") // the error does not stop the code under test
		return nil
	})
	var broken *testbed.Breakdown
	if err == nil || errors.As(err, &broken) || !strings.Contains(err.Error(), "does not support the command 'xadd'") {
		t.Errorf("got %v, want an error that names the command and is no finding", err)
	}
}

func TestAHeldConnectionIsNoOtherNodes(t *testing.T) {
	in(t, testbed.Setup{Seed: 1, Topology: testbed.Replicated, CommandTimeout: 100 * time.Millisecond}, func(ctx context.Context, w *simulation) error {
		undo, err := w.Hold(ctx, testbed.Link{From: "c0", To: "n0", Conn: 1}, testbed.Both)
		if err != nil {
			return err
		}
		if err := w.Promote(ctx, "n1"); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // the old connections end
		if err := w.redis(0).Set(ctx, "k", "v", 0).Err(); err != nil {
			return fmt.Errorf("on n1: %w", err)
		}
		hits, _ := undo(ctx)
		return want("hits", hits, 0)
	})
}

func TestWhoOnlyDialsLosesNoReply(t *testing.T) {
	in(t, testbed.Setup{Seed: 1, CommandTimeout: 100 * time.Millisecond}, func(ctx context.Context, w *simulation) error {
		for _, c := range []struct {
			direction testbed.Direction
			hits      int
		}{{testbed.Downstream, 0}, {testbed.Upstream, 0}, {testbed.Both, 1}} {
			undo, err := w.Cut(ctx, testbed.Link{From: "c0", To: "n0"}, c.direction)
			if err != nil {
				return err
			}
			patience, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			if _, err := w.Client(0).Locks().Dial(patience, "tcp", w.Client(0).Locks().Addrs[0]); err == nil {
				cancel()
				return fmt.Errorf("%s: got a connection through a cut", c.direction)
			}
			cancel()
			hits, _ := undo(ctx)
			if err := want(string(c.direction)+": hits", hits, c.hits); err != nil {
				return err
			}
		}
		return nil
	})
}

// A reset strikes a connection a moment after Reset was called. If the client sends a command
// on an idle connection meanwhile, the reset hits this command.
func TestAResetHitsACommandThatIsSentWhenItStrikes(t *testing.T) {
	for _, after := range []time.Duration{0, tick, 6 * tick} {
		t.Run(after.String(), func(t *testing.T) { resetThenSend(t, after) })
	}
}

func resetThenSend(t *testing.T, after time.Duration) {
	in(t, testbed.Setup{Seed: 1}, func(ctx context.Context, w *simulation) error {
		rdb := w.redis(0)
		if err := rdb.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
			return fmt.Errorf("before the reset: %w", err)
		}
		undo, err := w.Reset(ctx, testbed.Link{From: "c0", To: "n0"})
		if err != nil {
			return err
		}
		time.Sleep(after)
		if err := rdb.Get(ctx, "k").Err(); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			return fmt.Errorf("got %v, want a reset", err)
		}
		hits, _ := undo(ctx)
		return want("hits", hits, 1)
	})
}

func TestAnExpiryIsNoWriteThatASplitLoses(t *testing.T) {
	in(t, testbed.Setup{Seed: 1, Topology: testbed.Replicated}, func(ctx context.Context, w *simulation) error {
		if err := w.redis(0).Set(ctx, "k", "v", 50*time.Millisecond).Err(); err != nil {
			return err
		}
		undo, err := w.Split(ctx, "n1", []int{1})
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		w.redis(0).Get(ctx, "k")
		hits, _ := undo(ctx)
		return want("hits", hits, 0)
	})
}

// Redis deletes expired keys by itself. If its clock is then set back, the keys do not come
// back, not even from the disk.
func TestWhatExpiredByAWrongClockIsGoneForGood(t *testing.T) {
	in(t, testbed.Setup{Seed: 1, Durability: testbed.Always}, func(ctx context.Context, w *simulation) error {
		if err := w.redis(0).Set(ctx, "k", "v", 10*time.Second).Err(); err != nil {
			return err
		}
		for _, offset := range []time.Duration{time.Minute, 0} {
			if _, err := w.SkewNode(ctx, "n0", offset, nil); err != nil {
				return err
			}
			time.Sleep(2 * time.Second)
		}
		return goneForGood(ctx, w)
	})
}

// The node did not look for expired keys while its clock was wrong, so the key must remain.
func TestAJumpThatIsTakenBackAtOnceExpiresNothing(t *testing.T) {
	in(t, testbed.Setup{Seed: 1}, func(ctx context.Context, w *simulation) error {
		if err := w.redis(0).Set(ctx, "k", "v", 10*time.Second).Err(); err != nil {
			return err
		}
		for _, offset := range []time.Duration{time.Minute, 0} {
			if _, err := w.SkewNode(ctx, "n0", offset, nil); err != nil {
				return err
			}
		}
		keys, err := w.Keys(ctx, "n0")
		if err != nil {
			return err
		}
		return want("keys", len(keys), 1)
	})
}

func TestNobodyConnectsToANodeThatStarts(t *testing.T) {
	in(t, testbed.Setup{Seed: 1}, func(ctx context.Context, w *simulation) error {
		if err := w.Kill(ctx, "n0", nil); err != nil {
			return err
		}
		began := w.Now()
		refused := make(chan error, 1)
		go func() {
			_, err := w.Client(0).Locks().Dial(ctx, "tcp", w.Client(0).Locks().Addrs[0])
			refused <- err
		}()
		if _, err := w.Restart(ctx, "n0"); err != nil {
			return err
		}
		if took := w.Now() - began; took < startLeast {
			return fmt.Errorf("it started within %v, want at least %v", took, startLeast)
		}
		return want("dial", <-refused, error(errRefused))
	})
}

// goneForGood restarts n0 and returns an error if it has keys then.
func goneForGood(ctx context.Context, w *simulation) error {
	if err := w.Kill(ctx, "n0", nil); err != nil {
		return err
	}
	if _, err := w.Restart(ctx, "n0"); err != nil {
		return err
	}
	keys, err := w.Keys(ctx, "n0")
	if err != nil {
		return err
	}
	return want("keys", len(keys), 0)
}

// WAIT reads no key, but Redis deletes an expired key before it, on disk too.
func TestWhatExpiresBeforeAWaitIsGoneForGood(t *testing.T) {
	in(t, testbed.Setup{Seed: 1, Durability: testbed.Always}, func(ctx context.Context, w *simulation) error {
		if err := w.redis(0).Set(ctx, "k", "v", 10*time.Second).Err(); err != nil {
			return err
		}
		if _, err := w.SkewNode(ctx, "n0", time.Minute, nil); err != nil {
			return err
		}
		if err := w.redis(0).Do(ctx, "WAIT", "0", "0").Err(); err != nil {
			return err
		}
		if _, err := w.SkewNode(ctx, "n0", 0, nil); err != nil {
			return err
		}
		return goneForGood(ctx, w)
	})
}
