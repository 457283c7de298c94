package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// syncLink is the link over which a replica follows its primary.
type syncLink struct {
	replica *node
	proxy   *proxy
	door    *door
	host    string // this machine's host name, or address, for the replica
}

// follow opens the link from a replica to a primary.
func (e *env) follow(replica, primary *node) (*syncLink, error) {
	ip, host := e.place.Listen()
	proxy, door, err := e.proxies.forward(replica.name, primary.name, ip, primary.addr)
	if err != nil {
		return nil, err
	}
	s := &syncLink{replica: replica, proxy: proxy, door: door, host: host}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams = append(e.streams, s)
	return s, nil
}

// replicate makes n0 the primary of all other nodes and returns when all replicas are in sync.
func (e *env) replicate(ctx context.Context) error {
	e.mu.Lock()
	e.primary = e.nodes[0]
	e.mu.Unlock()
	for _, r := range e.nodes[1:] {
		if err := e.demote(ctx, r, e.nodes[0]); err != nil {
			return err
		}
	}
	return e.nodes[0].synced(ctx, "sync", testbed.Replicas)
}

// synced twice writes and deletes the key at a primary, and each time waits until so many replicas have
// acknowledged both. After its first copy, a replica may receive no writes for up to a second: only a second
// write shows that it follows.
func (n *node) synced(ctx context.Context, key string, replicas int) error {
	err := n.ask(ctx, func(c *redis.Client) error {
		conn := c.Conn()
		defer conn.Close()
		for range 2 {
			if err := errors.Join(conn.Set(ctx, key, "", 0).Err(), conn.Del(ctx, key).Err()); err != nil {
				return err
			}
			got, err := conn.Wait(ctx, replicas, adminTimeout).Result()
			if err == nil && int(got) < replicas {
				err = fmt.Errorf("%d of %d replicas are in sync after %v", got, replicas, adminTimeout)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("replication from %s: %w", n.name, err)
	}
	return nil
}

// wayTo returns the address by which a replica reaches its primary: that of the primary's peer
// proxy or, without peer proxies, of a link.
func (e *env) wayTo(replica, primary *node) (host, port string, err error) {
	if e.sentinels != nil {
		host, port = e.sentinels.peerProxies[primary].addr()
		return host, port, nil
	}
	s := e.stream(replica)
	if s == nil {
		if s, err = e.follow(replica, primary); err != nil {
			return "", "", err
		}
	}
	_, port = s.door.addr()
	return s.host, port, nil
}

// stream returns a replica's link to the present primary, if it has one already.
func (e *env) stream(replica *node) *syncLink {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.streams {
		if s.replica == replica {
			return s
		}
	}
	return nil
}

// demote makes a running node a replica of another.
func (e *env) demote(ctx context.Context, replica, primary *node) error {
	host, port, err := e.wayTo(replica, primary)
	if err != nil {
		return err
	}
	err = replica.ask(ctx, func(c *redis.Client) error { return c.ReplicaOf(ctx, host, port).Err() })
	if err != nil {
		return fmt.Errorf("make %s a replica of %s: %w", replica.name, primary.name, err)
	}
	return nil
}

// rejoin returns the arguments for the restart of a killed node. They make a replica follow the
// present primary.
func (e *env) rejoin(n *node) (args []string, err error) {
	primary := e.present()
	if primary == nil || primary == n {
		return nil, nil
	}
	host, port, err := e.wayTo(n, primary)
	if err != nil {
		return nil, err
	}
	return []string{"--replicaof", host, port}, nil
}

// disturb applies a rule to a link between servers. Hits is the number of stopped messages, without the
// messages that even an idle link carries, such as PING. A replica that lost commands reconnects and
// asks for them.
func (p *proxy) disturb(d testbed.Direction, r rule) testbed.Undo {
	before := p.caught(d)
	undo := p.impose(d, r)
	return once(func(context.Context) (int, error) {
		hits := p.caught(d) - before
		undo()
		return hits, nil
	})
}

// StopReplication implements testbed.Nodes: from now on, writes wait on the way from a primary to its
// replicas. It does not affect a cluster's bus. Hits is the greatest number of writes that any one replica had
// to wait for; in a cluster, the sum of all replicas.
func (e ownEnv) StopReplication(context.Context) (testbed.Undo, error) {
	combine := func(a, b int) int { return max(a, b) }
	var links []testbed.Link
	if e.cluster != nil {
		combine = func(a, b int) int { return a + b }
		for i, master := range e.cluster.masters() {
			links = append(links, following(e.cluster.shards[i].nodes, master)...)
		}
	} else if primary := e.present(); primary != nil {
		links = following(e.nodes, primary)
	} else {
		return nil, errors.New("stop replication: no node has replicas")
	}
	var undos []testbed.Undo
	for _, l := range links {
		if pairs := e.proxies.between(l); len(pairs) > 0 {
			undos = append(undos, pairs[0].disturb(testbed.Downstream, always(hold)))
		}
	}
	return undoAll(undos, combine), nil
}

// following returns the links over which nodes may follow a primary.
func following(nodes []*node, primary *node) (links []testbed.Link) {
	for _, n := range nodes {
		if n != primary {
			links = append(links, testbed.Link{From: n.name, To: primary.name})
		}
	}
	return links
}

// Promote implements testbed.Nodes. Writes that the replica has not received are lost, including
// those that StopReplication holds. The other replicas follow the new primary; an old primary that
// still runs loses its replicas and clients.
func (e ownEnv) Promote(ctx context.Context, node string) error {
	heir, old, err := e.heir(node)
	if err == nil {
		err = e.promoteFor(ctx, heir, e.clients)
	}
	if err == nil {
		err = e.rally(ctx, heir, old)
	}
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	return nil
}

// present returns the current primary: n0, or the node that was promoted last; nil if no node has replicas, or in
// a cluster.
func (e *env) present() *node {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.primary
}

// heir returns the named replica and the present primary, which the replica is to replace.
func (e *env) heir(node string) (heir, old *node, err error) {
	if heir, err = e.node(node); err != nil {
		return nil, nil, err
	}
	if old = e.present(); old == nil || old == heir {
		return nil, nil, fmt.Errorf("node %s is not a replica", node)
	}
	return heir, old, nil
}

// promoteFor makes heir the primary and moves the given clients to it. It closes the old primary's
// links to replicas, so that neither the old nor the new primary has replicas.
func (e *env) promoteFor(ctx context.Context, heir *node, moved []*client) error {
	if err := heir.ask(ctx, func(c *redis.Client) error { return c.ReplicaOf(ctx, "NO", "ONE").Err() }); err != nil {
		return err
	}
	heir.aof.begin(heir.dir, heir.clock())
	if err := heir.observer.now(ctx, ""); err != nil {
		return err
	}
	e.mu.Lock()
	e.primary = heir
	former := e.streams
	e.streams = nil
	e.mu.Unlock()
	move(moved, heir)
	for _, s := range former {
		s.door.close()
		s.proxy.heal() // held writes are lost
		s.proxy.close()
	}
	return nil
}

// move makes the clients' links lead to another node.
func move(clients []*client, to *node) {
	for _, c := range clients {
		for _, l := range c.links {
			l.retarget(to)
		}
	}
}

// rally makes all running nodes, except the old primary, follow the new primary.
func (e *env) rally(ctx context.Context, heir, old *node) error {
	for _, r := range e.nodes {
		if r == heir || r == old {
			continue
		}
		if _, err := r.running(); err != nil {
			continue
		}
		if err := e.demote(ctx, r, heir); err != nil {
			return err
		}
	}
	return nil
}
