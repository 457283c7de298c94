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

// cluster keeps account of who is whose master where the nodes decide it.
//
// It is seen at the tap: before a node that was a replica executes its first
// command of a client, it is asked what it is. What it was in between concerns
// nobody.
type cluster struct {
	env    *env
	doors  map[*node]*door // that their replicas and clients know them by
	buses  map[*node]*door
	shards []*shard
	*provocation

	mu     sync.Mutex // guards the shards as well
	record func(history.Op)
	early  []history.Op  // from before there was somebody to record
	pauses map[*node]int // and what else silences nodes
}

// shard is a third of the slots, and who has it.
type shard struct {
	key    string // in one of its slots
	nodes  []*node
	master *node
	heir   *node        // that was elected beside master, who still runs; nil if master rules alone
	moved  map[int]bool // clients that reached heir
}

// shardKeys are in slots of the first, the second and the third shard.
var shardKeys = [testbed.Masters]string{"sync-0", "sync-2", "sync-3"}

// clientsAsk is how soon after an election clients have asked the new master: those
// who wait for a lock ask all the time, in vain for a command's timeout at most.
const clientsAsk = 2 * time.Second

func newCluster(e *env) *cluster {
	// A master is failed for two timeouts after it can be reached again; a replica
	// that stands for election by then waits for up to a second, and has two timeouts
	// to win. Who was elected is seen when a client asks, all but at once.
	why := provocation{grace: 4*nodeTimeout + time.Second + clientsAsk}
	c := &cluster{env: e, provocation: &why, doors: map[*node]*door{}, buses: map[*node]*door{}, pauses: map[*node]int{}}
	for i := range testbed.Masters {
		c.shards = append(c.shards, &shard{
			key: shardKeys[i], nodes: []*node{e.nodes[i], e.nodes[i+testbed.Masters]}, master: e.nodes[i], moved: map[int]bool{},
		})
	}
	return c
}

// shardOf is the shard that the node is of.
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

// present is who was elected last. Cluster.mu is held.
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

// admit is called before a node executes a command of a client, and executes no
// other meanwhile.
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

// elected: the node has become a master, which may have escaped the present one. mu
// is held.
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

// unite ends a time of two masters. mu is held.
func (c *cluster) unite(s *shard) {
	if s.heir == nil {
		return
	}
	c.tell(history.Op{Client: history.NoClient, F: history.FPromote, Node: s.heir.name, From: s.master.name})
	s.master, s.heir = s.heir, nil
	clear(s.moved)
}

// gone: the node does not run any more.
func (c *cluster) gone(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.shardOf(n); n == s.master || n == s.heir {
		c.unite(s)
	}
}

// rules: the node is a master, if nobody has noticed yet.
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

// isMaster is what the node says of itself. With an error it has said nothing.
func (n *node) isMaster(ctx context.Context) (master bool, err error) {
	err = n.ask(ctx, func(c *redis.Client) error {
		role, err := c.Do(ctx, "ROLE").Slice()
		master = err == nil && len(role) > 0 && fmt.Sprint(role[0]) == "master"
		return err
	})
	return master, err
}
