package documents

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

func TestAcquisitionsHaveNoFiguresIfThereWereNone(t *testing.T) {
	e, _ := ByID("node-timeout")
	took := grant{asked: time.Second, tried: 3 * time.Second, got: 3*time.Second + 5*time.Millisecond}
	for _, c := range []struct {
		used run
		want string
	}{
		{run{attempts: 7}, "0; –; –"},
		{run{attempts: 3, grants: []grant{took}}, "1; 5 ms; 3.0"}, // 5 ms is the duration of the third attempt alone
	} {
		c.used.recipe = locks.All()[0]
		if got, err := c.used.figures().render(e.Columns[1].Shows, nil); err != nil || got != c.want {
			t.Errorf("%d attempts, %d grants: got %q, %v, want %q", c.used.attempts, len(c.used.grants), got, err, c.want)
		}
	}
}

// Answers to requests that were sent at the same time come at different times. Each answer waits for
// one hold only, so for at most 20 ms.
func TestSlowNodesAnswerIndependently(t *testing.T) {
	var mu sync.Mutex
	var late []time.Duration
	ping := func(env testbed.Env, n int) func(context.Context) error {
		return func(ctx context.Context) error {
			node := env.Client(0).Locks().Nodes[n]
			if err := node.Do(ctx, "PING").Err(); err != nil { // connects
				return err
			}
			if err := testbed.Sleep(ctx, time.Second-env.Now()); err != nil {
				return err
			}
			sent := env.Now()
			if err := node.Do(ctx, "PING").Err(); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			late = append(late, (env.Now() - sent).Round(time.Millisecond))
			return nil
		}
	}
	const nodes = 5
	tb := sim.New()
	setup := testbed.Setup{Topology: testbed.Independent, Nodes: nodes, Clients: 2, Seed: 1, Clock: tb.Clock(), Commands: func(history.Command) {}}
	err := tb.Run(t.Context(), setup, func(ctx context.Context, env testbed.Env) error {
		u := run{settings: settings{Slow: true, Clients: 2, Nodes: nodes, Lasts: 30 * time.Second}}
		all, ctx := errgroup.WithContext(ctx)
		all.Go(func() error { return u.disturb(ctx, env, 1) })
		for n := range nodes {
			all.Go(func() error { return ping(env, n)(ctx) })
		}
		return all.Wait()
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(late)
	if text := fmt.Sprint(late); len(late) != nodes || late[nodes-1] > 21*time.Millisecond || len(slices.Compact(late)) < 3 {
		t.Errorf("the answers came after %s: want five, at different times up to 20 ms", text)
	}
}
