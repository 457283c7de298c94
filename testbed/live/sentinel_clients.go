package live

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/gate"
)

// dials are ways to connect, by the address that a server announces.
type dials map[string]func(context.Context) (net.Conn, error)

// reachWatched gives a client its links to all nodes and to all Sentinels, and the
// one go-redis client that finds the primary with their help.
func (e *env) reachWatched(c *client, id int) error {
	known := dials{}
	for i, n := range e.nodes {
		l, err := e.way(id, i, n)
		if err != nil {
			return err
		}
		c.links = append(c.links, l)
		addr := e.watchers.doors[n].announced()
		known[addr] = func(ctx context.Context) (net.Conn, error) {
			e.watchers.counts.reaching(id, n)
			conn, err := l.dial(ctx, id)
			if err != nil {
				return nil, err
			}
			return nameplate{conn.(*gate.Conn), addr}, nil
		}
	}
	var sentinels []string
	for _, s := range e.watchers.all {
		way := &aside{client: id, gate: e.gate, sentinel: s}
		var err error
		if way.proxy, err = e.proxies.open(fmt.Sprintf("c%d-%s", id, s.name), loopback, s.addr()); err != nil {
			return err
		}
		e.watchers.asides = append(e.watchers.asides, way)
		addr := e.watchers.doors[s].announced()
		sentinels, known[addr] = append(sentinels, addr), way.dial
	}
	o := testbed.FailoverOptions(watched, sentinels, e.setup.CommandTimeout)
	c.ReachSentinel(o, e.watchers.doors[e.nodes[0]].announced(), func(ctx context.Context, addr string) (net.Conn, error) {
		dial := known[addr]
		if dial == nil {
			return nil, fmt.Errorf("dial %s: c%d has no link to it", addr, id)
		}
		return dial(ctx)
	})
	return nil
}

// warmWatched warms connections of a client that asks Sentinels first. It retries,
// because the client asks them with the short timeout of commands.
func warmWatched(ctx context.Context, r *redis.Client, connections int) error {
	for end := time.Now().Add(adminTimeout); ; {
		err := warmUp(ctx, r, connections)
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return err
		}
	}
}

// nameplate is a connection that shows the node's announced address as its remote
// address: go-redis closes connections to other addresses than the primary's.
type nameplate struct {
	*gate.Conn
	addr string
}

// RemoteAddr implements net.Conn.
func (n nameplate) RemoteAddr() net.Addr { return testbed.Address(n.addr) }

// aside is the link between a client and a Sentinel.
type aside struct {
	client   int
	gate     *gate.Gate
	sentinel *node
	proxy    *proxy
	draining tally
}

// dial makes one connection through the gate.
func (a *aside) dial(ctx context.Context) (net.Conn, error) {
	c, err := a.gate.DialAside(ctx, a.client, a.sentinel.name, func(ctx context.Context) (net.Conn, error) {
		near, err := new(net.Dialer).DialContext(ctx, "tcp4", a.proxy.Listen)
		if err != nil {
			return nil, testbed.Bare(err)
		}
		a.draining.Add()
		return &nearEnd{TCPConn: near.(*net.TCPConn), gone: a.draining.Done}, nil
	})
	if err != nil {
		return nil, err // not a nil *Conn
	}
	return c, nil
}

// leads says whether the aside is that link.
func (a *aside) leads(l testbed.Link) bool {
	return l.From == fmt.Sprintf("c%d", a.client) && l.To == a.sentinel.name
}
