package gate

import (
	"context"
	"net"

	"github.com/lockstorm/lockstorm/testbed"
)

// Ways tells how the client reaches its nodes.
func (c *Client) Ways() testbed.Ways {
	w := c.ways
	w.Addrs = c.locks.Addrs
	return w
}

// Connect makes a connection of the client to one of the addresses in Ways or, where
// there are Sentinels, to one that they tell, through the gate.
func (c *Client) Connect(ctx context.Context, addr string) (net.Conn, error) {
	if c.exactly != nil {
		return c.exactly(ctx, addr)
	}
	return c.dial(ctx, "tcp", addr)
}

// outside says whether clients have processes of their own. Messages for a paused client
// are then let through to its process.
func (g *Gate) outside() bool { return g.processes != nil }

// holds says whether the gate holds what comes for the client. mu is held.
func (g *Gate) holds(cl *gateClient) bool { return len(cl.pauses) > 0 && !g.outside() }

// keep notes that the reply to r waits for a frozen process, and counts it as a hit of
// each pause. mu is held.
func (cl *gateClient) keep(r *record) {
	r.unread = true
	for _, p := range cl.pauses {
		p.hits++
	}
}

// unfreeze stamps the replies that waited for the process: now it can see them. mu
// is held.
func (c *Conn) unfreeze() {
	for _, r := range c.records.Live() {
		if r.unread {
			r.unread, r.clientDone, r.Replied = false, true, c.gate.clock()
		}
	}
	c.settleAll()
}
