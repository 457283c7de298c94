package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// syncLink is the link over which a replica follows its primary.
type syncLink struct {
	replica, primary *node
	proxy            *proxy
	host             string // the replica's name for this machine; "" = the proxy's address
}

// follow opens the link from a replica to a primary.
func (e *env) follow(replica, primary *node) (*syncLink, error) {
	proxy, err := e.proxies.open(replica.name+"-"+primary.name, e.place.Doors(), primary.addr())
	if err != nil {
		return nil, err
	}
	s := &syncLink{replica: replica, primary: primary, proxy: proxy}
	if h, ok := e.place.(Hosted); ok {
		s.host = h.Host()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams = append(e.streams, s)
	return s, nil
}

// address that the replica is told, as host and port.
func (s *syncLink) address() (host, port string) {
	host, port, _ = net.SplitHostPort(s.proxy.Listen)
	return cmp.Or(s.host, host), port
}

// replicate makes n0 the primary of all other nodes and returns when they are in
// sync.
func (e *env) replicate(ctx context.Context) error {
	e.mu.Lock()
	e.primary = e.nodes[0]
	e.mu.Unlock()
	for _, r := range e.nodes[1:] {
		if err := e.demote(ctx, r, e.nodes[0]); err != nil {
			return err
		}
	}
	return e.nodes[0].ask(ctx, func(c *redis.Client) error {
		conn := c.Conn()
		defer conn.Close()
		// After its first copy a replica may get nothing for up to a second: only a
		// second write tells whether it follows.
		return errors.Join(replicated(ctx, conn), replicated(ctx, conn))
	})
}

// replicated writes and deletes a key and waits until all replicas have both.
func replicated(ctx context.Context, c *redis.Conn) error {
	err := errors.Join(c.Set(ctx, "sync", "", 0).Err(), c.Del(ctx, "sync").Err())
	if err != nil {
		return fmt.Errorf("replication: %w", err)
	}
	got, err := c.Wait(ctx, testbed.Replicas, adminTimeout).Result()
	if err == nil && got < testbed.Replicas {
		err = fmt.Errorf("%d of %d replicas are in sync after %v", got, testbed.Replicas, adminTimeout)
	}
	if err != nil {
		return fmt.Errorf("replication: %w", err)
	}
	return nil
}

// wayTo is the address at which a replica finds its primary: the primary's door,
// or else a link that is opened for it.
func (e *env) wayTo(replica, primary *node) (host, port string, err error) {
	if e.watchers != nil {
		host, port = e.watchers.doors[primary].addr()
		return host, port, nil
	}
	s, err := e.follow(replica, primary)
	if err != nil {
		return "", "", err
	}
	host, port = s.address()
	return host, port, nil
}

// demote tells a running node to follow another.
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

// rejoin returns the arguments with which a killed node has to be started.
func (e *env) rejoin(n *node) (args []string, err error) {
	e.mu.Lock()
	primary := e.primary
	i := slices.IndexFunc(e.streams, func(s *syncLink) bool { return s.replica == n })
	var s *syncLink
	if i >= 0 {
		s = e.streams[i]
	}
	e.mu.Unlock()
	if primary == nil || primary == n {
		return nil, nil
	}
	if s == nil {
		if s, err = e.follow(n, primary); err != nil {
			return nil, err
		}
	}
	host, port := s.address()
	return []string{"--replicaof", host, port}, nil
}

// syncLink finds the link between a replica and its primary, nil if there is none.
func (e *env) syncLink(l testbed.Link) *syncLink {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.streams {
		if s.replica.name == l.From && s.primary.name == l.To {
			return s
		}
	}
	return nil
}

// disturb cuts or holds a link between servers. Hits counts the commands that were
// stopped, without those of an idle link. A replica that lost commands reconnects and
// asks for them.
func (p *proxy) disturb(d testbed.Direction, how func(*valve) func()) testbed.Undo {
	before := p.caught(d)
	undo := p.shut(d, how)
	return once(func(context.Context) (int, error) {
		hits := p.caught(d) - before
		undo()
		return hits, nil
	})
}

// StopReplication implements testbed.Nodes: what the primary executes from now
// on waits on the way to its replicas. Hits counts the writes that at
// least one replica had to wait for.
func (e ownEnv) StopReplication(context.Context) (testbed.Undo, error) {
	e.mu.Lock()
	primary := e.primary
	streams := slices.DeleteFunc(slices.Clone(e.streams), func(s *syncLink) bool { return s.primary != primary })
	e.mu.Unlock()
	if primary == nil {
		return nil, errors.New("stop replication: no node has replicas")
	}
	var undos []testbed.Undo
	for _, s := range streams {
		undos = append(undos, s.proxy.disturb(testbed.Downstream, (*valve).hold))
	}
	return once(func(ctx context.Context) (int, error) {
		most := 0
		for _, undo := range undos {
			hits, _ := undo(ctx)
			most = max(most, hits)
		}
		return most, nil
	}), nil
}

// Promote implements testbed.Nodes. Writes that the replica has not received are lost,
// also those that StopReplication holds. The other replicas follow the new primary; the
// old one, if it still runs, keeps no replicas and no clients.
func (e ownEnv) Promote(ctx context.Context, node string) error {
	heir, old, err := e.heir(node)
	if err == nil {
		err = e.crown(ctx, heir, e.clients)
	}
	if err == nil {
		err = e.rally(ctx, heir, old)
	}
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	return nil
}

// heir finds a replica and the primary that it is to replace.
func (e *env) heir(node string) (heir, old *node, err error) {
	if heir, err = e.node(node); err != nil {
		return nil, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.primary == nil || e.primary == heir {
		return nil, nil, fmt.Errorf("node %s is not a replica", node)
	}
	return heir, e.primary, nil
}

// crown makes a replica the primary and moves these clients to it. After it, neither
// primary has replicas.
func (e *env) crown(ctx context.Context, heir *node, moved []*client) error {
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
	err := move(ctx, moved, heir)
	for _, s := range former {
		s.proxy.open() // what it holds is lost
		s.proxy.Stop()
	}
	return err
}

// move leads the clients to another node.
func move(ctx context.Context, clients []*client, to *node) error {
	var errs []error
	for _, c := range clients {
		for _, l := range c.links {
			errs = append(errs, l.retarget(ctx, to))
		}
	}
	return errors.Join(errs...)
}

// rally makes all running nodes follow the new primary, except the old one.
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
