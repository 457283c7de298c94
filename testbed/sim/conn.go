package sim

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/lockstorm/lockstorm/testbed/resp"
	"github.com/lockstorm/lockstorm/testbed/sim/node"
)

// conn is one connection: the client's end, below the gate, and the node's end. The simulation's
// lock guards it.
type conn struct {
	link      *link
	server    *server
	gc        *gate.Conn
	number    int // among the client's dials of the node, from 1
	dialled   chan error
	dialGroup *dialGroup // the group of simultaneous dials; nil if none, or once the dial has left it
	up        flow
	down      flow

	// The client's end.
	deliver func(resp.Message, error) // the gate's receiver; nil until OnMessage is called
	err     error                     // why the client can read nothing more; nil if it can
	closed  bool
	sent    int // number of requests sent

	// The node's end.
	session   *node.Session // nil until the node accepts the connection
	ended     bool          // the node runs no more requests of the connection
	seen      uint64        // the node's count of writes after the connection's last command, for WAIT
	waiting   *waiting      // the connection's WAIT in progress, or nil
	behind    []*packet     // requests that arrived during the WAIT
	resetIdle *resets       // the reset that struck the idle connection; nil if none, or once it has counted a hit
}

var _ gate.Pusher = (*conn)(nil)

// id returns the connection's number, 0 if c is nil.
func (c *conn) id() int {
	if c == nil {
		return 0
	}
	return c.number
}

// OnMessage implements gate.Pusher.
func (c *conn) OnMessage(deliver func(resp.Message, error)) {
	w := c.link.sim
	w.mu.Lock()
	defer w.mu.Unlock()
	c.deliver = deliver
	if c.err != nil {
		deliver(nil, c.err)
	}
}

// Read implements net.Conn. It always fails: messages go to OnMessage's function.
func (c *conn) Read([]byte) (int, error) { return 0, errPushed }

// Write implements net.Conn. The gate writes whole requests, one by one.
func (c *conn) Write(p []byte) (int, error) {
	w := c.link.sim
	w.mu.Lock()
	defer w.mu.Unlock()
	args, err := resp.Message(p).Args()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.err != nil:
		if c.resetIdle != nil && resp.Counts(args) {
			c.resetIdle.hits++
			c.resetIdle = nil
		}
		return 0, errPipe
	case err != nil:
		return 0, fmt.Errorf("write past the gate: %w", err)
	}
	c.sent++
	c.link.up.send(&packet{conn: c, kind: message, args: words(args), number: c.sent, matters: resp.Counts(args), from: w.setup.Remedies.Sender(c.link.client)}, &c.up)
	return len(p), nil
}

func words(args []history.Bytes) []string {
	text := make([]string, len(args))
	for i, a := range args {
		text[i] = string(a)
	}
	return text
}

// Close implements net.Conn. Requests that were already sent still arrive.
func (c *conn) Close() error {
	w := c.link.sim
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	c.link.forget(c)
	c.link.up.send(&packet{conn: c, kind: closing}, &c.up)
	return nil
}

// receive handles a packet from the node at the client's end.
func (c *conn) receive(p *packet) {
	switch p.kind {
	case opening:
		c.dial(nil)
	case refusal:
		c.dial(errRefused)
		c.fail(errReset)
	case closing:
		c.fail(io.EOF)
	case message:
		if !c.closed && c.err == nil {
			c.deliver(p.data, nil)
		}
	}
}

// dial ends the client's wait for the connection, with this result.
func (c *conn) dial(err error) {
	c.result(func() {
		select {
		case c.dialled <- err:
		default: // the result has already been delivered
		}
	})
}

// fail closes the client's end with an error: the client reads nothing more.
func (c *conn) fail(err error) {
	c.link.forget(c)
	if c.err != nil {
		return
	}
	c.err = err
	if c.deliver != nil && !c.closed {
		c.deliver(nil, err)
	}
}

// errPushed is the error of a read that bypasses the gate.
var errPushed = errors.New("this connection delivers what comes")

// abort closes both ends immediately and loses the packets in flight. The client reads err.
func (c *conn) abort(err error) {
	c.server.hangUp(c)
	c.dial(errReset)
	c.fail(err)
}

func (l *link) forget(c *conn) {
	l.conns = slices.DeleteFunc(l.conns, func(o *conn) bool { return o == c })
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 1, byte(c.link.client+1)), Port: 40000 + c.number}
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(10, 0, 0, byte(c.server.index+1)), Port: 6379}
}

// The gate handles deadlines, so these methods do nothing. Writes never block.

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
