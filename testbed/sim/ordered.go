package sim

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/lockstorm/lockstorm/testbed/gate"
)

// Libraries that are handed our dialer choose a connection before anybody sees what
// they send. If several goroutines of a client do so at one instant, who gets which
// is luck: connections that were opened at one instant, and idle ones of a pool, are
// alike. So they are kept alike: all that were asked for at one instant open at one
// instant, and only when it is known what is sent, and in which order, is it settled
// which connection has which number.

// ordered is a connection whose writes pass a turnstile.
type ordered struct {
	*gate.Conn
	stile  turnstile
	closed atomic.Bool
	ended  chan struct{} // closed by Close
}

// Write implements net.Conn.
func (c *ordered) Write(p []byte) (int, error) {
	c.stile.pass(&turn{text: func() string { return string(p) }, conn: c.Conn}, c.ended)
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *ordered) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		close(c.ended)
	}
	return c.Conn.Close()
}

// order is the link's dialler for libraries that build their own clients.
func (l *link) order(stile turnstile) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		c, err := l.open(ctx, true)
		if err != nil {
			return nil, err
		}
		return &ordered{Conn: c, stile: stile, ended: make(chan struct{})}, nil
	}
}

// settle makes whose turn it is use the first of the connections that wait for their
// turns and are like its own. The world's lock is held.
func (w *world) settle(mine *turn) {
	if mine.conn == nil {
		return
	}
	l := w.clients[mine.client].links[mine.node]
	own := l.below(mine.conn)
	if own == nil {
		return
	}
	first := own
	for _, t := range w.turns.waiting {
		if t.conn == nil || t.client != mine.client || t.node != mine.node || t.since >= now() {
			continue
		}
		if c := l.below(t.conn); c != nil && c.number < first.number && c.resembles(own) {
			first = c
		}
	}
	if first != own && own.gc.Exchange(first.gc) {
		own.gc, first.gc = first.gc, own.gc
		own.deliver, first.deliver = first.deliver, own.deliver
	}
}

// below is the connection below a client's end, nil if it has ended.
func (l *link) below(gc *gate.Conn) *conn {
	for _, c := range l.conns {
		if c.gc == gc {
			return c
		}
	}
	return nil
}

// resembles says whether nothing but their numbers tells two connections apart.
func (c *conn) resembles(o *conn) bool {
	return c.server == o.server && c.idle() && o.idle() && c.session.Resembles(o.session)
}

// idle says whether the connection is good, and nothing is under way on it.
func (c *conn) idle() bool {
	return !c.closed && c.err == nil && !c.ended && c.session != nil && c.deliver != nil && c.waiting == nil &&
		!c.up.severed && !c.down.severed && c.up.sent == c.up.expected && c.down.sent == c.down.expected
}

// joint are the connections that a client asks one node for at one instant. All
// that wait for one are told at one instant, when the last result is known.
type joint struct {
	since time.Duration
	open  int // results that are not known yet
	tell  []func()
}

// join makes a dial a part of those that its client began at this instant.
func (l *link) join(c *conn) {
	if l.joint == nil || l.joint.since != now() {
		l.joint = &joint{since: now()}
	}
	c.joint = l.joint
	c.joint.open++
}

// leave takes a dial out: what became of it is for itself to wait for. A fault
// stopped it, or nobody waits any more.
func (c *conn) leave() {
	if j := c.joint; j != nil {
		c.joint = nil
		j.less()
	}
}

// result tells whoever waits for the connection what became of it, or has it told
// with the others.
func (c *conn) result(tell func()) {
	j := c.joint
	if j == nil {
		tell()
		return
	}
	c.joint = nil
	j.tell = append(j.tell, tell)
	j.less()
}

// less counts down the results that are not known.
func (j *joint) less() {
	if j.open--; j.open > 0 {
		return
	}
	for _, tell := range j.tell {
		tell()
	}
	j.tell = nil
}
