package sim

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// trial runs body in a simulation with this setup and returns the commands.
func trial(t testing.TB, s testbed.Setup, body func(context.Context, testbed.Env) error) ([]history.Command, error) {
	t.Helper()
	tb := New()
	var commands []history.Command
	s.Clock = tb.Clock()
	s.Commands = func(c history.Command) { commands = append(commands, c) }
	if s.Topology == "" {
		s.Topology = testbed.Single
	}
	if s.Clients == 0 {
		s.Clients = 2
	}
	err := tb.Run(t.Context(), s, body)
	history.SortCommands(commands)
	return commands, err
}

func TestCommandsTakeVirtualTime(t *testing.T) {
	began := time.Now()
	commands, err := trial(t, testbed.Setup{Seed: 1}, func(ctx context.Context, env testbed.Env) error {
		c := env.Client(0).Locks().Nodes[0].(*redis.Client)
		if err := c.Set(ctx, "k", "v", time.Hour).Err(); err != nil {
			return err
		}
		time.Sleep(time.Hour - time.Second)
		if got, err := c.Get(ctx, "k").Result(); got != "v" || err != nil {
			return fmt.Errorf("before the end: got %q, %v", got, err)
		}
		time.Sleep(time.Second + time.Millisecond)
		if n, err := c.Exists(ctx, "k").Result(); n != 0 || err != nil {
			return fmt.Errorf("after the end: got %d, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if real := time.Since(began); real > time.Hour/2 {
		t.Errorf("an hour took %v", real)
	}
	for _, c := range commands {
		if !c.Ran() || c.Replied <= c.Served || c.Served < c.Arrived || c.Arrived <= c.Sent || c.Exec == 0 {
			t.Errorf("got %+v, want it sent, arrived, served and replied in this order", c)
		}
	}
}

func BenchmarkCommands(b *testing.B) {
	benchmarkClient(b, func(ctx context.Context, c *redis.Client) error {
		return c.Set(ctx, "k", "v", time.Second).Err()
	})
}

func BenchmarkScripts(b *testing.B) {
	release := redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	keys := []string{"k"}
	benchmarkClient(b, func(ctx context.Context, c *redis.Client) error {
		return release.Run(ctx, c, keys, "token").Err()
	})
}

func benchmarkClient(b *testing.B, do func(context.Context, *redis.Client) error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var elapsed time.Duration
	_, err := trial(b, testbed.Setup{Seed: 1, Clients: 1}, func(ctx context.Context, env testbed.Env) error {
		env.(*simulation).budget = 1 << 60
		c := env.Client(0).Locks().Nodes[0].(*redis.Client)
		for range b.N {
			if err := do(ctx, c); err != nil {
				return err
			}
		}
		elapsed = env.Now()
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(elapsed.Seconds()/b.Elapsed().Seconds(), "virtual-s/s")
}

// BenchmarkSetUp runs trials of two clients in which nothing happens.
func BenchmarkSetUp(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	tb := New()
	for range b.N {
		err := tb.Run(b.Context(), testbed.Setup{
			Topology: testbed.Single, Clients: 2, Clock: tb.Clock(), Commands: func(history.Command) {},
		}, func(context.Context, testbed.Env) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/trial")
}
