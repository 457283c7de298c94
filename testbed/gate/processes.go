package gate

import (
	"context"
	"net"

	"github.com/lockstorm/lockstorm/testbed"
)

// Route returns how the client reaches its nodes.
func (c *Client) Route() testbed.Route {
	w := c.route
	w.Addrs, w.Prefix = c.locks.Addrs, c.locks.Prefix
	return w
}

// Connect connects the client through the gate to an address in Route. If the client uses
// Sentinels, the address is one that a node or a Sentinel announces.
func (c *Client) Connect(ctx context.Context, addr string) (net.Conn, error) {
	if c.exactly != nil {
		return c.exactly(ctx, addr)
	}
	return c.dial(ctx, "tcp", addr)
}

// outside reports whether clients run in their own processes. If they do, the gate lets
// replies through to the socket of a paused client's process, which reads them after the pause.
func (g *Gate) outside() bool { return g.processes != nil }

// holds reports whether the gate keeps messages back from the client. mu is held.
func (g *Gate) holds(cl *gateClient) bool { return len(cl.pauses) > 0 && !g.outside() }

// keep notes that the reply to r waits for a frozen process, and counts it as a hit of
// each pause. mu is held.
func (cl *gateClient) keep(r *record) {
	r.unread = true
	for _, p := range cl.pauses {
		p.hits++
	}
}

// unfreeze notes that the replies that waited for the frozen process are received now: it sets
// their Replied. mu is held.
func (c *Conn) unfreeze() {
	for _, r := range c.records.Live() {
		if r.unread {
			r.unread, r.clientDone, r.Replied = false, true, c.gate.clock()
		}
	}
	c.finalizeAll()
}
