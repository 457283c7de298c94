package live

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// cluster tracks each shard's master, which the nodes elect.
//
// The tap notices elections: before a node executes a client's command, the tap asks the node for its
// role, unless the node is known to be its shard's only master. Changes of role between commands do
// not matter.
type cluster struct {
	env         *env
	peerProxies map[*node]*peerProxy // in front of the nodes' ports: each node announces its proxy's address
	buses       map[*node]*peerProxy // in front of the nodes' cluster buses
	shards      []*shard
	elections

	pauses map[*node]int // pauses of each node; guarded by mu
}

// shardKeys are keys in slots of the first, second and third shard.
var shardKeys = [testbed.Masters]string{"sync-0", "sync-2", "sync-3"}

// clientsAsk bounds the time from an election to a client's first command to the new
// master: a client that waits for a lock tries again at the latest when its last command
// has timed out.
const clientsAsk = 2 * time.Second

func newCluster(e *env) *cluster {
	// A master stays marked as failed for two timeouts after it becomes reachable again. A
	// replica that starts an election in that time first waits for up to a second, and then
	// has two timeouts to win. We notice the election when a client sends the new master a
	// command.
	why := provocation{grace: 4*nodeTimeout + time.Second + clientsAsk}
	c := &cluster{env: e, elections: elections{provocation: &why}, peerProxies: map[*node]*peerProxy{}, buses: map[*node]*peerProxy{}, pauses: map[*node]int{}}
	for i := range testbed.Masters {
		c.shards = append(c.shards, &shard{
			key: shardKeys[i], nodes: []*node{e.nodes[i], e.nodes[i+testbed.Masters]}, master: e.nodes[i], moved: map[int]bool{},
		})
	}
	return c
}

func (c *cluster) shardOf(n *node) *shard {
	for _, s := range c.shards {
		if slices.Contains(s.nodes, n) {
			return s
		}
	}
	return nil
}

// masters returns the present masters, in the order of their shards.
func (c *cluster) masters() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*node
	for _, s := range c.shards {
		all = append(all, s.present())
	}
	return all
}

// admit returns a function that notices elections. The tap calls this function before node n
// executes a client's command, with n's turn held.
func (c *cluster) admit(n *node) func(client int, args []history.Bytes) {
	return func(client int, args []history.Bytes) {
		if !resp.Counts(args) {
			return
		}
		s := c.shardOf(n)
		c.mu.Lock()
		stable := n == s.present() && s.heir == nil
		c.mu.Unlock()
		if stable {
			return
		}
		master, err := n.isMaster(c.env.ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case master && n != s.present() && s.heir == nil:
			c.elected(s, n)
		case err == nil && !master && n == s.master:
			c.unite(s)
		}
		c.reached(s, client, n)
	}
}

// gone notes that the node was killed or has stepped down.
func (c *cluster) gone(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shardOf(n); n == s.master || n == s.heir {
		c.unite(s)
	}
}

// rules notes that the node is a master, unless this is known or the shard has two masters already.
func (c *cluster) rules(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shardOf(n); n != s.present() && s.heir == nil {
		c.elected(s, n)
	}
}

// rivals returns the previous and the present master of the node's shard. They differ only while
// there are two masters.
func (c *cluster) rivals(n *node) (old, present *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shardOf(n)
	return s.master, s.present()
}

// isMaster asks the node for its role. If isMaster returns an error, the role is unknown.
func (n *node) isMaster(ctx context.Context) (master bool, err error) {
	err = n.ask(ctx, func(c *redis.Client) error {
		role, err := c.Do(ctx, "ROLE").Slice()
		master = err == nil && len(role) > 0 && fmt.Sprint(role[0]) == "master"
		return err
	})
	return master, err
}
