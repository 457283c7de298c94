package live

import (
	"context"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/gate"
)

// dials maps the address that a server announces to a function that connects to the server.
type dials map[string]func(context.Context) (net.Conn, error)

func (d dials) dial(ctx context.Context, addr string) (net.Conn, error) {
	if dial := d[addr]; dial != nil {
		return dial(ctx)
	}
	return nil, fmt.Errorf("dial %s: the client has no link to it", addr)
}

// reachAll gives a client its links to all nodes, and returns the addresses that the nodes announce, with the
// function that connects to each. dial makes one connection to a node over its link.
func (e *env) reachAll(c *client, id int, announced map[*node]*peerProxy,
	dial func(context.Context, *link, *node) (net.Conn, error)) (addrs []string, known dials, err error) {
	known = dials{}
	for i, n := range e.nodes {
		l, err := e.newLink(id, i, n)
		if err != nil {
			return nil, nil, err
		}
		c.links = append(c.links, l)
		addr := announced[n].announced()
		addrs = append(addrs, addr)
		known[addr] = func(ctx context.Context) (net.Conn, error) { return dial(ctx, l, n) }
	}
	return addrs, known, nil
}

// reachWatched gives a client its links to all nodes and Sentinels, and the go-redis client
// that asks the Sentinels for the primary.
func (e *env) reachWatched(c *client, id int) error {
	nodes, known, err := e.reachAll(c, id, e.sentinels.peerProxies, func(ctx context.Context, l *link, n *node) (net.Conn, error) {
		e.sentinels.reaching(id, n)
		conn, err := l.dial(ctx, id)
		if err != nil {
			return nil, err
		}
		return nameplate{conn.(*gate.Conn), e.sentinels.peerProxies[n].announced()}, nil
	})
	if err != nil {
		return err
	}
	var sentinels []string
	for _, s := range e.sentinels.all {
		proxy, door, err := e.proxies.forward(clientName(id), s.name, loopback, s.addr)
		if err != nil {
			return err
		}
		e.sentinels.links = append(e.sentinels.links, proxy)
		addr := e.sentinels.peerProxies[s].announced()
		sentinels = append(sentinels, addr)
		known[addr] = func(ctx context.Context) (net.Conn, error) { return dialAside(ctx, e.gate, id, s.name, door) }
	}
	o := testbed.FailoverOptions(watched, sentinels, e.setup.CommandTimeout)
	c.ReachSentinel(o, nodes, known.dial)
	return nil
}

// warmWatched warms the connections of a client that uses Sentinels. It retries, because
// the client asks the Sentinels with the short timeout of commands.
func warmWatched(ctx context.Context, r *redis.Client, connections int) error {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return until(ctx, func() (string, error) { return retried(warmUp(ctx, r, connections)) })
}

// nameplate is a connection whose remote address is the node's announced address: go-redis
// closes connections to any address but the primary's.
type nameplate struct {
	*gate.Conn
	addr string
}

// RemoteAddr implements net.Conn.
func (n nameplate) RemoteAddr() net.Addr { return testbed.Address(n.addr) }

// dialAside makes one connection of a client to a Sentinel, through the gate and the Sentinel's door.
func dialAside(ctx context.Context, g *gate.Gate, client int, sentinel string, to *door) (net.Conn, error) {
	c, err := g.DialAside(ctx, client, sentinel, func(ctx context.Context) (net.Conn, error) {
		near, err := new(net.Dialer).DialContext(ctx, "tcp4", to.announced())
		if err != nil {
			return nil, testbed.BareError(err)
		}
		return &nearEnd{TCPConn: near.(*net.TCPConn)}, nil
	})
	if err != nil {
		return nil, err // a nil interface, not a nil *Conn
	}
	return c, nil
}
