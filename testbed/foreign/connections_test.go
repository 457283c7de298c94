package foreign_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/foreign"
	"github.com/lockstorm/lockstorm/testbed/process"
	"github.com/lockstorm/lockstorm/testbed/sim"
)

// open starts a client of the test's command and returns its handle on a lock.
func open(env testbed.Env, argv []string) (locks.Lock, error) {
	make, _, err := foreign.Start(env.Client(0).Locks(), argv)
	if err != nil {
		return nil, err
	}
	return make("job", time.Second)
}

func TestADeadNodeRefusesConnections(t *testing.T) {
	argv := command(t)
	real, err := process.New(process.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tb := range []testbed.Testbed{sim.New(), real} {
		t.Run(tb.Name(), func(t *testing.T) {
			err := tb.Run(t.Context(), testbed.Setup{
				Topology: testbed.Single, Clients: 1, Seed: 3, Limit: time.Hour, CommandTimeout: 5 * time.Second,
				Clock: tb.Clock(), Commands: func(history.Command) {},
			}, func(ctx context.Context, env testbed.Env) error { return dieAndReturn(ctx, env, argv) })
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// dieAndReturn kills the node, restarts it, and takes the lock meanwhile and afterwards.
func dieAndReturn(ctx context.Context, env testbed.Env, argv []string) error {
	l, err := open(env, argv)
	if err != nil {
		return err
	}
	nodes := env.(testbed.Nodes)
	for range 2 {
		if err := nodes.Kill(ctx, "n0", nil); err != nil {
			return err
		}
		_, _ = l.TryLock(ctx) // may show the end of the connection that was there
		for range 3 {
			if _, err := l.TryLock(ctx); err == nil || !strings.Contains(err.Error(), "ConnectionRefusedError") {
				return fmt.Errorf("acquire from a dead node: got %v, want a refused connection", err)
			}
		}
		if _, err := nodes.Restart(ctx, "n0"); err != nil {
			return err
		}
		lease, err := l.TryLock(ctx)
		if err != nil {
			return fmt.Errorf("acquire from a node that is back: %w", err)
		}
		if err := l.Unlock(ctx, lease); err != nil {
			return err
		}
	}
	return nil
}

// The client waits for a connection for 50 ms; LOCKSTORM_TIMEOUT_MS is a second.
func TestAConnectEndsWithTheClientsOwnLimit(t *testing.T) {
	_, err := simulate(t, 1, func(ctx context.Context, env testbed.Env) error {
		l, err := open(env, command(t, "brief"))
		if err != nil {
			return err
		}
		link := testbed.Link{From: "c0", To: "n0"}
		mend, err := env.(testbed.Network).Cut(ctx, link, testbed.Both)
		if err != nil {
			return err
		}
		for range 3 { // the first uses the connection that is there
			if _, err := l.TryLock(ctx); err == nil || !strings.Contains(err.Error(), "timed out') after 50 ms") {
				return fmt.Errorf("acquire from a node that is cut off: got %v", err)
			}
		}
		if _, err := mend(ctx); err != nil {
			return err
		}
		_, err = l.TryLock(ctx)
		if errors.Is(err, locks.ErrBusy) {
			return errors.New("acquire: busy, though no request reached the node")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
