package container

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestANodesClockIsItsOwn(t *testing.T) {
	needEngine(t)
	o := options()
	o.Prepare = true
	tb, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer tb.Close()
	if err := tb.provider.Clocks(); err != nil {
		if tb.provider.engine.facts.desktop {
			t.Skipf("NOT TESTED: %v", err)
		}
		t.Fatal(err)
	}
	err = tb.Run(t.Context(), testbed.Setup{
		Topology: testbed.Independent, Nodes: 2, Clients: 1, Clock: tb.Clock(), Commands: func(history.Command) {},
	}, func(ctx context.Context, e testbed.Env) error {
		nodes := e.Client(0).Locks().Nodes
		for _, n := range nodes {
			if err := n.Set(ctx, "k", 1, time.Hour).Err(); err != nil {
				return err
			}
		}
		keys, err := e.(testbed.NodeClocks).SkewNode(ctx, "n0", 2*time.Hour, nil)
		if keys != 1 || err != nil {
			t.Errorf("SkewNode: got %d keys, %v, want 1", keys, err)
		}
		if err := nodes[0].Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
			t.Errorf("GET after its life: got %v, want %v", err, redis.Nil)
		}
		return nodes[1].Get(ctx, "k").Err() // n1's clock is right
	})
	if err != nil {
		t.Error(err)
	}
}
