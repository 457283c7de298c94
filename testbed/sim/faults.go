package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// once returns an undo whose first call runs end, with the simulation's lock held.
func (w *simulation) once(end func() int) testbed.Undo {
	done, hits := false, 0
	return func(context.Context) (int, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !done {
			done, hits = true, end()
		}
		return hits, nil
	}
}

// Cut implements testbed.Network.
func (w *simulation) Cut(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	l.Conn = 0
	return w.shut(l, d, true)
}

// Hold implements testbed.Network.
func (w *simulation) Hold(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return w.shut(l, d, false)
}

// shut blocks a link in one direction or both. The hits that the Undo returns are the packets that were
// stopped and matter (packet.matters). If both directions are blocked, attempts to connect are hits, too,
// since clients may be unable to do anything but connect.
func (w *simulation) shut(l testbed.Link, d testbed.Direction, drop bool) (testbed.Undo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all, err := w.find(l, d)
	if err != nil {
		return nil, err
	}
	to, err := w.server(l.To)
	if err != nil {
		return nil, err
	}
	as := block{drop: drop, conn: l.Conn, server: to, dials: d == testbed.Both}
	return w.once(all.block(as, func(a, b int) int { return a + b })), nil
}

// find returns the pipes of a link in one direction or both.
func (w *simulation) find(l testbed.Link, d testbed.Direction) (pipes, error) {
	var up, down *pipe
	if of := w.link(l); of != nil {
		up, down = of.up, of.down
	} else if i := slices.IndexFunc(w.streams, func(s *stream) bool {
		return !s.gone && s.replica.name == l.From && s.primary.name == l.To
	}); i >= 0 {
		up, down = w.streams[i].up, w.streams[i].down
	} else {
		return nil, fmt.Errorf("no link from %s to %s", l.From, l.To)
	}
	switch d {
	case testbed.Upstream:
		return pipes{up}, nil
	case testbed.Downstream:
		return pipes{down}, nil
	case testbed.Both:
		return pipes{up, down}, nil
	}
	return nil, fmt.Errorf("direction %q: want %s, %s or %s", d, testbed.Upstream, testbed.Downstream, testbed.Both)
}

// link finds a client's link, nil if there is none. In a replicated topology a client has
// only one link, which matches the name of every node: promotions and splits move the link
// from node to node.
func (w *simulation) link(l testbed.Link) *link {
	for _, c := range w.clients {
		if c.Locks().ID != l.From {
			continue
		}
		for _, found := range c.links {
			if found.target.name == l.To {
				return found
			}
		}
		if _, err := w.server(l.To); err == nil && w.primary != nil {
			return c.links[0]
		}
	}
	return nil
}

type resets struct{ hits int }

// refuse resets a connection that is being made.
func (r *resets) refuse(c *conn) {
	r.hits++
	c.abort(errReset)
}

// Reset implements testbed.Network. Hits counts refused connections, and reset connections
// that were in use: a message was in flight when Reset was called or when the reset struck,
// or the client sends a command before it has noticed the reset. Other idle connections do
// not count. The seed decides whether a request in flight survives.
func (w *simulation) Reset(_ context.Context, on testbed.Link) (testbed.Undo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.link(on)
	if l == nil {
		return nil, fmt.Errorf("no link from %s to %s", on.From, on.To)
	}
	r := &resets{}
	l.resets = append(l.resets, r)
	for i, c := range l.conns {
		caught := c.inFlight()
		if caught {
			r.hits++
		}
		w.schedule.add(&event{
			at: align(now()+time.Duration(i+1)*tick, l.down.id), pipe: l.down.id, conn: c.number, do: func() {
				switch {
				case caught:
				case c.inFlight():
					r.hits++
				default:
					c.resetIdle = r
				}
				c.reset()
			},
		})
	}
	return w.once(func() int {
		l.resets = slices.DeleteFunc(l.resets, func(o *resets) bool { return o == r })
		return r.hits
	}), nil
}

// inFlight says whether a message is under way on the connection, in either direction.
func (c *conn) inFlight() bool {
	return c.up.sent > c.up.expected || c.down.sent > c.down.expected
}

// reset closes the client's end immediately. It closes the node's end either immediately or
// after the packets in flight to the node.
func (c *conn) reset() {
	w := c.link.sim
	if mix(w.setup.Seed, uint64(c.link.up.id), uint64(c.number), c.up.sent)%2 == 0 {
		c.abort(errReset)
		return
	}
	c.link.up.send(&packet{conn: c, kind: closing}, &c.up)
	c.dial(errReset)
	c.fail(errReset)
}
