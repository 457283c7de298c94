package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// cluster tracks the master of each shard, which the nodes elect.
//
// The tap notices an election: before a former replica executes a client's command, it is
// asked for its role. Changes of role between commands do not matter.
type cluster struct {
	env    *env
	doors  map[*node]*door // by which replicas and clients know them
	buses  map[*node]*door
	shards []*shard
	*provocation

	mu     sync.Mutex // guards the shards as well
	record func(history.Op)
	early  []history.Op  // events before OnElection
	pauses map[*node]int // number of faults that silence a node
}

// shard is a third of the slots, and who has it.
type shard struct {
	key    string // in one of its slots
	nodes  []*node
	master *node
	heir   *node        // elected while master still runs; else nil
	moved  map[int]bool // clients that reached heir
}

// shardKeys are in slots of the first, the second and the third shard.
var shardKeys = [testbed.Masters]string{"sync-0", "sync-2", "sync-3"}

// clientsAsk is how soon after an election clients have asked the new master: waiters for
// a lock retry all the time, after a command's timeout at the latest.
const clientsAsk = 2 * time.Second

func newCluster(e *env) *cluster {
	// A master stays marked as failed for two timeouts after it can be reached again. A
	// replica that stands for election by then waits for up to a second, and has two
	// timeouts to win. The election is noticed when a client asks the new master.
	why := provocation{grace: 4*nodeTimeout + time.Second + clientsAsk}
	c := &cluster{env: e, provocation: &why, doors: map[*node]*door{}, buses: map[*node]*door{}, pauses: map[*node]int{}}
	for i := range testbed.Masters {
		c.shards = append(c.shards, &shard{
			key: shardKeys[i], nodes: []*node{e.nodes[i], e.nodes[i+testbed.Masters]}, master: e.nodes[i], moved: map[int]bool{},
		})
	}
	return c
}

// shardOf is the node's shard.
func (c *cluster) shardOf(n *node) *shard {
	for _, s := range c.shards {
		for _, other := range s.nodes {
			if other == n {
				return s
			}
		}
	}
	return nil
}

// present is the master that was elected last. cluster.mu is held.
func (s *shard) present() *node {
	if s.heir != nil {
		return s.heir
	}
	return s.master
}

// masters are the present ones, in the order of their shards.
func (c *cluster) masters() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*node
	for _, s := range c.shards {
		all = append(all, s.present())
	}
	return all
}

// OnElection implements testbed.Elections.
func (c *cluster) OnElection(record func(history.Op)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record = record
	for _, op := range c.early {
		record(op)
	}
	c.early = nil
}

// tell records an event. mu is held.
func (c *cluster) tell(op history.Op) {
	op.Process = history.Nemesis
	if c.record == nil {
		c.early = append(c.early, op)
		return
	}
	c.record(op)
}

// admit is called before a node executes a client's command, while it executes no other.
func (c *cluster) admit(n *node) func(client int, args []history.Bytes) {
	return func(client int, args []history.Bytes) {
		if !resp.Counts(args) {
			return
		}
		s := c.shardOf(n)
		c.mu.Lock()
		settled := n == s.present() && s.heir == nil
		c.mu.Unlock()
		if settled {
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
		if n == s.heir && !s.moved[client] {
			s.moved[client] = true
			c.tell(history.Op{Client: client, F: history.FSplit, Node: n.name, From: s.master.name})
		}
	}
}

// elected: the node has become a master, maybe unknown to the present one. mu is held.
func (c *cluster) elected(s *shard, n *node) {
	lost := s.present().name
	if !c.explains() {
		c.tell(history.Op{Client: history.NoClient, F: history.FElection, Node: lost})
	}
	c.replaced(lost)
	s.heir = n
	n.aof.begin(n.dir, n.clock())
	if _, err := s.master.running(); err != nil {
		c.unite(s)
	}
}

// unite ends a period of two masters. mu is held.
func (c *cluster) unite(s *shard) {
	if s.heir == nil {
		return
	}
	c.tell(history.Op{Client: history.NoClient, F: history.FPromote, Node: s.heir.name, From: s.master.name})
	s.master, s.heir = s.heir, nil
	clear(s.moved)
}

// gone: the node was killed or has stepped down.
func (c *cluster) gone(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shardOf(n); n == s.master || n == s.heir {
		c.unite(s)
	}
}

// rules: the node is a master, which may not have been noticed yet.
func (c *cluster) rules(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shardOf(n); n != s.present() && s.heir == nil {
		c.elected(s, n)
	}
}

// rivals are the masters of the node's shard, the present one last.
func (c *cluster) rivals(n *node) (old, present *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shardOf(n)
	return s.master, s.present()
}

// isMaster asks the node for its role. With an error the role is unknown.
func (n *node) isMaster(ctx context.Context) (master bool, err error) {
	err = n.ask(ctx, func(c *redis.Client) error {
		role, err := c.Do(ctx, "ROLE").Slice()
		master = err == nil && len(role) > 0 && fmt.Sprint(role[0]) == "master"
		return err
	})
	return master, err
}
