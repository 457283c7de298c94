package sim

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// In two simulations, one after the other, a client sends more commands at once than go-redis's
// pool has connections. If go-redis itself waited for a connection, it would carry a timer from
// one bubble to the next.
func TestMoreCommandsAtOnceThanConnections(t *testing.T) {
	for range 2 {
		tb := New()
		var answered sync.WaitGroup
		err := tb.Run(t.Context(), testbed.Setup{
			Topology: testbed.Single, Clients: 1, CommandTimeout: time.Minute, Clock: tb.Clock(),
			Commands: func(history.Command) {},
		}, func(ctx context.Context, e testbed.Env) error {
			hold, err := e.(testbed.Network).Hold(ctx, testbed.Link{From: "c0", To: "n0"}, testbed.Downstream)
			if err != nil {
				return err
			}
			for range testbed.PoolSize + 50 {
				answered.Go(func() {
					if err := e.Client(0).Locks().Nodes[0].Ping(ctx).Err(); err != nil {
						t.Error(err)
					}
				})
			}
			time.Sleep(time.Second)
			if _, err := hold(ctx); err != nil {
				return err
			}
			answered.Wait()
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
