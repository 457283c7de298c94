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

// reachWatched gives a client its links to all nodes and Sentinels, and the go-redis client
// that asks the Sentinels for the primary.
func (e *env) reachWatched(c *client, id int) error {
	known := dials{}
	var nodes []string
	for i, n := range e.nodes {
		l, err := e.newLink(id, i, n)
		if err != nil {
			return err
		}
		c.links = append(c.links, l)
		addr := e.sentinels.peerProxies[n].announced()
		nodes = append(nodes, addr)
		known[addr] = func(ctx context.Context) (net.Conn, error) {
			e.sentinels.reaching(id, n)
			conn, err := l.dial(ctx, id)
			if err != nil {
				return nil, err
			}
			return nameplate{conn.(*gate.Conn), addr}, nil
		}
	}
	var sentinels []string
	for _, s := range e.sentinels.all {
		link := &sentinelLink{client: id, gate: e.gate, sentinel: s}
		var err error
		if link.proxy, link.door, err = e.proxies.forward(clientName(id), s.name, loopback, s.addr); err != nil {
			return err
		}
		e.sentinels.links = append(e.sentinels.links, link)
		addr := e.sentinels.peerProxies[s].announced()
		sentinels, known[addr] = append(sentinels, addr), link.dial
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

// sentinelLink is the link from a client to a Sentinel.
type sentinelLink struct {
	client   int
	gate     *gate.Gate
	sentinel *node
	proxy    *proxy
	door     *door
}

// dial makes one connection through the gate.
func (a *sentinelLink) dial(ctx context.Context) (net.Conn, error) {
	c, err := a.gate.DialAside(ctx, a.client, a.sentinel.name, func(ctx context.Context) (net.Conn, error) {
		near, err := new(net.Dialer).DialContext(ctx, "tcp4", a.door.announced())
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
