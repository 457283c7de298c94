package sim

import (
	"context"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Dials outlive the commands that asked for them, and keep their places in go-redis's pool.
// Commands that give up while no node answers their dials must not fill the pool.
func TestCommandsThatGiveUpWhileDialling(t *testing.T) {
	for range 2 {
		tb := New()
		err := tb.Run(t.Context(), testbed.Setup{
			Topology: testbed.Single, Clients: 1, CommandTimeout: time.Minute, Clock: tb.Clock(),
			Commands: func(history.Command) {},
		}, func(ctx context.Context, e testbed.Env) error {
			if _, err := e.(testbed.Network).Cut(ctx, testbed.Link{From: "c0", To: "n0"}, testbed.Upstream); err != nil {
				return err
			}
			for range testbed.PoolSize + 50 {
				soon, cancel := context.WithTimeout(ctx, time.Millisecond)
				err := e.Client(0).Locks().Nodes[0].Ping(soon).Err()
				cancel()
				if err == nil {
					t.Error("a node that is cut off has answered")
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
