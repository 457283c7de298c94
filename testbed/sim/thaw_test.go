package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// frozen makes a client send many commands to a frozen node, each over a connection of its own,
// and one more command when the first is answered. When the node resumes, and begins to work off
// its backlog, frozen calls the function in the parameter during. It returns the commands that
// arrived, in the order of execution.
func frozen(t *testing.T, requests int, during func(context.Context, *simulation) error) []history.Command {
	t.Helper()
	commands := in(t, testbed.Setup{Seed: 3, CommandTimeout: 10 * time.Second}, func(ctx context.Context, w *simulation) error {
		c, _ := w.redis(0), w.redis(0).Ping(ctx)
		resume, err := w.Pause(ctx, "n0")
		if err != nil {
			return err
		}
		var asking sync.WaitGroup
		var first atomic.Bool // not sync.Once: a goroutine that waits for a mutex stops the clock
		for i := range requests {
			asking.Go(func() {
				c.Do(ctx, "SET", fmt.Sprint("queued-", i), 1)
				if first.CompareAndSwap(false, true) {
					c.Do(ctx, "SET", "next", 1)
				}
			})
			time.Sleep(10*time.Microsecond + time.Nanosecond)
		}
		time.Sleep(time.Second)
		hits, err := resume(ctx)
		if err != nil {
			return err
		}
		if err := during(ctx, w); err != nil {
			return err
		}
		asking.Wait()
		return want("commands that waited", hits, requests)
	})
	commands = slices.DeleteFunc(commands, func(c history.Command) bool { return c.N == 0 || c.Arrived == 0 })
	slices.SortFunc(commands, func(a, b history.Command) int { return a.Exec - b.Exec })
	return commands
}

func nothing(context.Context, *simulation) error { return nil }

func TestANodeWorksOffWhatCameWhileItStoodStill(t *testing.T) {
	const requests = 40
	var first, last, next history.Command
	queued := 0
	for _, c := range frozen(t, requests, nothing) {
		switch key := string(c.Args[1]); {
		case key == "next":
			next = c
		default:
			if queued > 0 && c.Arrived < last.Arrived+10*time.Microsecond {
				t.Errorf("%s arrived at %v, want it some time after the one before, at %v", key, c.Arrived, last.Arrived)
			}
			queued++
			if first.Arrived == 0 {
				first = c
			}
			last = c
		}
	}
	if queued != requests {
		t.Fatalf("got %d of %d commands that waited", queued, requests)
	}
	if next.Sent >= last.Replied || next.Sent == 0 {
		t.Errorf("whom the node answered first went on at %v, want it before the last was answered at %v", next.Sent, last.Replied)
	}
}

func TestANodeThatStopsWhileItCatchesUpGoesOnWhereItWas(t *testing.T) {
	const requests = 40
	got := frozen(t, requests, func(ctx context.Context, w *simulation) error {
		time.Sleep(200 * time.Microsecond)
		resume, err := w.Pause(ctx, "n0")
		if err != nil {
			return err
		}
		time.Sleep(time.Second)
		_, err = resume(ctx)
		return err
	})
	if len(got) != requests+1 {
		t.Errorf("got %d commands, want %d", len(got), requests+1)
	}
}

func TestANodeThatDiesWhileItCatchesUpForgetsTheRest(t *testing.T) {
	const requests = 40
	got := frozen(t, requests, func(ctx context.Context, w *simulation) error {
		time.Sleep(200 * time.Microsecond)
		if err := w.Kill(ctx, "n0", nil); err != nil {
			return err
		}
		_, err := w.Restart(ctx, "n0")
		return err
	})
	if len(got) == 0 || len(got) >= requests {
		t.Errorf("got %d of %d commands, want some, but not all", len(got), requests)
	}
}
