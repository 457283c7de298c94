package sim

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/testbed/gate"
)

// Libraries that use our dialler choose a connection before the simulation sees their command. If
// several goroutines of a client choose at the same instant, the Go scheduler decides which
// goroutine gets which connection. So the simulation makes such connections interchangeable: dials
// that begin at the same instant complete at the same instant, and chooseConn assigns the
// connections to the commands when the order of the commands is known.

// ordered is a connection whose writes pass a sequencer: of several goroutines that write at the
// same instant, the sequencer decides which one goes first.
type ordered struct {
	*gate.Conn
	sequencer sequencer
	closed    atomic.Bool
	ended     chan struct{} // closed by Close
}

// Write implements net.Conn.
func (c *ordered) Write(p []byte) (int, error) {
	c.sequencer.pass(&turn{text: func() string { return string(p) }, conn: c.Conn}, c.ended)
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *ordered) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		close(c.ended)
	}
	return c.Conn.Close()
}

// order returns the link's dialler for libraries that build their own clients.
func (l *link) order(sequencer sequencer) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		c, err := l.open(ctx, true)
		if err != nil {
			return nil, err
		}
		return &ordered{Conn: c, sequencer: sequencer, ended: make(chan struct{})}, nil
	}
}

// chooseConn chooses the connection of a turn that goes on now; the parameter mine is that turn. The
// candidates are the turn's own connection, and connections of waiting turns that resemble it. The turn
// swaps connections with the turn whose candidate has the lowest number. The simulation's lock is held.
func (t *turns) chooseConn(mine *turn) {
	if mine.conn == nil {
		return
	}
	l := t.sim.clients[mine.client].links[mine.node]
	own := l.below(mine.conn)
	if own == nil {
		return
	}
	first := own
	for _, o := range t.waiting {
		if o.conn == nil || o.client != mine.client || o.node != mine.node || o.since >= now() {
			continue
		}
		if c := l.below(o.conn); c != nil && c.number < first.number && c.resembles(own) {
			first = c
		}
	}
	if first != own && own.gc.Exchange(first.gc) {
		own.gc, first.gc = first.gc, own.gc
		own.deliver, first.deliver = first.deliver, own.deliver
	}
}

// below returns the connection below gc, nil if it has ended.
func (l *link) below(gc *gate.Conn) *conn {
	for _, c := range l.conns {
		if c.gc == gc {
			return c
		}
	}
	return nil
}

// resembles reports whether two connections are idle and differ only in their numbers.
func (c *conn) resembles(o *conn) bool {
	return c.server == o.server && c.idle() && o.idle() && c.session.Resembles(o.session)
}

// idle reports whether the connection works and has no packet in flight.
func (c *conn) idle() bool {
	return !c.closed && c.err == nil && !c.ended && c.session != nil && c.deliver != nil && c.waiting == nil &&
		!c.up.severed && !c.down.severed && c.up.sent == c.up.expected && c.down.sent == c.down.expected
}

// dialGroup is the group of a client's dials to one node that began at the same instant. All
// their results are delivered at one instant, when the last result is known.
type dialGroup struct {
	since   time.Duration
	open    int // number of dials that the group waits for
	deliver []func()
}

// joinDialGroup adds a dial to its link's dial group of this instant.
func (l *link) joinDialGroup(c *conn) {
	if l.dialGroup == nil || l.dialGroup.since != now() {
		l.dialGroup = &dialGroup{since: now()}
	}
	c.dialGroup = l.dialGroup
	c.dialGroup.open++
}

// leaveDialGroup removes a dial from its dial group, because a fault stopped the dial or its caller gave
// up. The other dials of the dial group do not wait for its result.
func (c *conn) leaveDialGroup() {
	if j := c.dialGroup; j != nil {
		c.dialGroup = nil
		j.oneDone()
	}
}

// result delivers a dial's result by calling deliver. If the dial is in a dial group, this happens
// when all results of the dial group are known.
func (c *conn) result(deliver func()) {
	j := c.dialGroup
	if j == nil {
		deliver()
		return
	}
	c.dialGroup = nil
	j.deliver = append(j.deliver, deliver)
	j.oneDone()
}

// oneDone notes that the group no longer waits for one of its dials. If it waits for none, oneDone
// delivers all results.
func (j *dialGroup) oneDone() {
	if j.open--; j.open > 0 {
		return
	}
	for _, deliver := range j.deliver {
		deliver()
	}
	j.deliver = nil
}
