package live

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// clusterEnv is the world of a Redis Cluster, whose nodes elect their masters.
type clusterEnv struct {
	ownEnv
	*cluster
}

var (
	_ testbed.Network   = clusterEnv{}
	_ testbed.Nodes     = clusterEnv{}
	_ testbed.Elections = clusterEnv{}
	_ testbed.Slots     = clusterEnv{}
)

// List implements testbed.Nodes.
func (e clusterEnv) List() []string { return nodeNames(e.masters()) }

// Promote implements testbed.Nodes. If the master runs and is not frozen, Promote starts a failover.
// It waits until the cluster has elected the node. Unless the old master is frozen, Promote also
// waits until that master has stepped down and clients have moved: only briefly for frozen clients.
// The view of clients in processes of their own is unknown: they get about the time that others need.
func (e clusterEnv) Promote(ctx context.Context, node string) error {
	n, err := e.node(node)
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	defer e.provoke()()
	old, present := e.rivals(n)
	if old == n {
		return fmt.Errorf("promote: node %s is a master", node)
	}
	if present != n {
		if err := e.elect(ctx, n, old); err != nil {
			return fmt.Errorf("promote %s: %w", node, err)
		}
		e.rules(n)
	}
	e.cluster.peerProxies[old].pairs[n.name].heal() // held writes are lost
	if e.frozen(old) {
		return nil
	}
	if err := e.awaitStepDown(ctx, old); err != nil {
		return fmt.Errorf("promote %s: %w", node, err)
	}
	e.follow(ctx, e.shardOf(n), n)
	return nil
}

// elect starts a failover from old to n, unless old is down or frozen. It waits until n and all
// running, unfrozen masters except old see n as master and serve.
func (e clusterEnv) elect(ctx context.Context, n, old *node) error {
	if _, err := old.running(); err == nil && !e.frozen(old) {
		if err := n.ask(ctx, func(c *redis.Client) error { return c.Do(ctx, "CLUSTER", "FAILOVER", "FORCE").Err() }); err != nil {
			return err
		}
	}
	others := slices.DeleteFunc(append(e.masters(), n), func(n *node) bool {
		_, err := n.running()
		return err != nil || n == old || e.frozen(n)
	})
	for _, other := range others {
		err := other.ask(ctx, func(c *redis.Client) error {
			return until(ctx, func() (string, error) {
				known, err := knownTo(ctx, c)
				if err == nil && !known[e.cluster.peerProxies[n].announced()].master {
					return "to " + other.name + " it is no master", nil
				}
				if err != nil {
					return "", err
				}
				return operative(ctx, c)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow waits until all clients know the new master, but no longer than an active client may need
// to learn of it.
func (e clusterEnv) follow(ctx context.Context, s *shard, n *node) {
	ctx, cancel := context.WithTimeout(ctx, 4*testbed.SlotsKnownFor)
	defer cancel()
	var following sync.WaitGroup
	for _, c := range e.clients { // concurrently: a frozen client must not delay other clients
		following.Go(func() {
			_ = until(ctx, func() (string, error) {
				master, err := c.cluster.MasterForKey(ctx, s.key)
				if err != nil {
					return err.Error(), nil // the node that the client asked did not answer
				}
				if master.Options().Addr != e.cluster.peerProxies[n].announced() {
					return "it goes to the old master", nil
				}
				return "", nil
			})
		})
	}
	following.Wait()
}

// Kill implements testbed.Nodes.
func (e clusterEnv) Kill(ctx context.Context, node string, down func() error) error {
	return e.kill(ctx, node, down, e.provocation, e.gone)
}

// Restart implements testbed.Nodes. It waits until the node serves, which takes a restarted
// master two seconds. A replaced master comes back as a replica.
func (e clusterEnv) Restart(ctx context.Context, node string) (history.Lost, error) {
	return e.restart(node, func() (history.Lost, error) {
		lost, err := e.ownEnv.Restart(ctx, node)
		if err != nil {
			return lost, err
		}
		n, _ := e.node(node)
		err = n.ask(ctx, func(c *redis.Client) error {
			return until(ctx, func() (string, error) { return operative(ctx, c) })
		})
		if err != nil {
			return lost, fmt.Errorf("restart node %s: %w", node, err)
		}
		return lost, nil
	})
}

// Pause implements testbed.Nodes. A master that was replaced during the pause executes commands
// again after the pause, until it learns of the new master.
func (e clusterEnv) Pause(ctx context.Context, node string) (testbed.Undo, error) {
	n, err := e.node(node)
	if err != nil {
		return nil, err
	}
	return e.during(func() (testbed.Undo, error) {
		undo, err := e.ownEnv.Pause(ctx, node)
		if err == nil {
			e.freeze(n, 1)
		}
		return undo, err
	}, func(ctx context.Context) error {
		e.freeze(n, -1)
		return e.awaitStepDown(ctx, n)
	})
}

// freeze adds by, which is 1 or -1, to the number of pauses of the node.
func (c *cluster) freeze(n *node, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses[n] += by
}

// frozen reports whether the node is paused, and thus cannot answer.
func (c *cluster) frozen(n *node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses[n] > 0
}

// awaitStepDown waits until n has stepped down, if another master was elected in its place.
func (e clusterEnv) awaitStepDown(ctx context.Context, n *node) error {
	old, present := e.rivals(n)
	if _, err := n.running(); err != nil || old != n || present == n {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	err := until(ctx, func() (string, error) {
		if _, err := n.running(); err != nil {
			return "", nil // n was killed meanwhile
		}
		master, err := n.isMaster(ctx)
		switch {
		case err != nil:
			return err.Error(), nil // an error does not prove that n has stepped down
		case master:
			return "it does not step down", nil
		}
		return "", nil
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	e.gone(n)
	return nil
}

// turnTimeout bounds how long a migration may wait for the turns (node.turn) of its nodes and then
// move the keys.
const turnTimeout = 5 * time.Second
