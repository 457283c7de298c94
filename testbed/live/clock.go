package live

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

// Worlds whose nodes have wall clocks of their own.
type (
	clockEnv struct {
		manualEnv
		nodeClocks
	}
	watchedClockEnv struct {
		sentinelEnv
		nodeClocks
	}
	clusterClockEnv struct {
		clusterEnv
		nodeClocks
	}
)

// nodeClocks implements testbed.NodeClocks.
type nodeClocks struct{ env *env }

var (
	_ testbed.NodeClocks = nodeClocks{}
	_ testbed.NodeClocks = clockEnv{}
	_ testbed.NodeClocks = watchedClockEnv{}
	_ testbed.Elections  = watchedClockEnv{}
)

// clocks returns nil if the provider's servers have wall clocks of their own, else the
// reason.
func clocks(p Provider) error {
	m, ok := p.(Clockmaker)
	if !ok {
		return errors.New("its servers go by the machine's clock")
	}
	return m.Clocks()
}

// giveClock makes the node's clock. The clock's file is beside the node's directory, because a
// restart may empty the directory.
func (n *node) giveClock() (err error) {
	n.wall, err = clockshim.New(filepath.Clean(n.dir) + ".clock")
	return err
}

// clockFile returns the path of the node's clock, "" if the node has none.
func (n *node) clockFile() string {
	if n.wall == nil {
		return ""
	}
	return n.wall.Path()
}

// SkewNode implements testbed.NodeClocks. Commands that the node executes after SkewNode has
// returned see the new time. A node that is down has the new time after its restart.
//
// Redis uses its wall clock not only for expiry. After a jump forward by more than repl-timeout a
// primary drops its replicas, which reconnect at once. After a jump back a node does not sync its
// append-only file until the clock reaches the time that it showed before the jump.
func (w nodeClocks) SkewNode(ctx context.Context, node string, offset time.Duration, jumps func() error) (keys int, err error) {
	n, err := w.env.node(node)
	if err != nil {
		return 0, err
	}
	if !n.take(ctx.Done()) {
		return 0, fmt.Errorf("set the clock of node %s: %w", node, ctx.Err())
	}
	defer n.release()
	if n.wall.Offset() == offset {
		return 0, nil
	}
	if _, err := n.running(); err != nil {
		if err := testbed.CallIfAny(jumps); err != nil {
			return 0, err
		}
		n.wall.Set(offset)
		return 0, nil
	}
	n.observer.look(cause{})
	from := n.clock()
	there, err := w.env.keysOf(ctx, n)
	if err != nil {
		return 0, fmt.Errorf("set the clock of node %s: %w", node, err)
	}
	err = n.ask(ctx, func(c *redis.Client) error {
		if err := testbed.CallIfAny(jumps); err != nil {
			return err
		}
		n.wall.Set(offset)
		for _, k := range there {
			if k.TTL >= 0 {
				keys++
			}
		}
		return awaitClock(ctx, c, offset)
	})
	n.observer.look(cause{by: history.ByClock, from: from})
	if err != nil {
		return 0, fmt.Errorf("set the clock of node %s: %w", node, err)
	}
	return keys, nil
}

const (
	// clockSlack is the tolerated error of a node's clock.
	clockSlack = 10 * time.Millisecond
	// clockTimeout bounds how long a node may take to show the new time.
	clockTimeout = time.Second
)

// awaitClock returns when the node's clock is ahead of this machine's by offset, give or take
// clockSlack. It fails after clockTimeout.
func awaitClock(ctx context.Context, c *redis.Client, offset time.Duration) error {
	timeout, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	return until(timeout, func() (string, error) {
		before := time.Now().Round(0).Add(offset)
		shown, err := c.Time(ctx).Result()
		after := time.Now().Round(0).Add(offset)
		if err != nil || shown.After(before.Add(-clockSlack)) && shown.Before(after.Add(clockSlack)) {
			return "", err
		}
		return fmt.Sprintf("it shows %v, not %v: the clock shim has no effect", shown.UTC(), after.UTC()), nil
	})
}
