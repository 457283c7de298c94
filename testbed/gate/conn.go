package gate

import (
	"cmp"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// Conn is the client's end of one connection through the gate.
//
// The gate reads replies from the connection below before the client asks for them. The
// client's reads return the replies that the gate has let through. So the gate knows when a
// reply arrives even if the client does not read, and can stop deadlines during a pause.
type Conn struct {
	gate   *Gate
	client *gateClient
	node   string
	number int  // place among the client's dials of the node, from 1
	aside  bool // the connection's commands are neither counted nor logged
	counts *nodeCounts
	inner  net.Conn
	ended  chan struct{} // closed by Close

	writer   writeLock // guards out, texts and deadline
	out      []byte    // the beginning of an incomplete command
	texts    resp.Texts
	deadline time.Time // inner's write deadline

	// Gate.mu guards the fields below.
	inbox
	closed    bool
	writeBy   deadline
	wake      chan struct{} // broadcast when closed or writeBy changes or a command is handed on; see wait
	replies   resp.Replies
	records   records             // commands whose outcome is still open, by number
	arrivals  resp.Queue[arrival] // messages that wait to be let through
	admitting bool                // whether admitAll runs
	observed  bool
	nodeDone  bool
}

func newConn(g *Gate, cl *gateClient, node string) *Conn {
	w := cl.at(node)
	w.dials++
	return &Conn{
		gate: g, client: cl, node: node, number: w.dials, counts: w,
		ended: make(chan struct{}), writer: make(chan struct{}, 1), inbox: inbox{mu: &g.mu, readable: make(chan struct{}, 1)},
	}
}

// Number returns the connection's number, history.Command.Conn: its place among all dials
// of its client to its node, from 1.
func (c *Conn) Number() int {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.number
}

func (c *Conn) compare(other *Conn) int {
	return cmp.Or(cmp.Compare(c.node, other.node), cmp.Compare(c.number, other.number))
}

// wait waits until the connection is closed or gets another write deadline, the client's
// state changes, a command was handed on, or d has passed. mu is held on entry and return.
func (c *Conn) wait(d deadline) {
	var expired <-chan time.Time
	if !d.at.IsZero() {
		t := time.NewTimer(time.Until(d.at))
		defer t.Stop()
		expired = t.C
	}
	mine, clients := await(&c.wake), await(&c.client.wake)
	c.gate.mu.Unlock()
	select {
	case <-mine:
	case <-clients:
	case <-expired:
	}
	c.gate.mu.Lock()
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	for waited, held := false, false; ; waited = true {
		if waited && c.gate.closed || held && len(c.client.pauses) == 0 {
			c.gate.asleep(waiter{c.client, c, reading})
			held = false
		}
		if len(c.client.pauses) > 0 && !c.closed && !c.gate.closed {
			held = true
			c.awaitReply(time.Time{})
			continue
		}
		if n, err, ok := c.take(p); ok {
			c.signal() // there may be more for another reader
			return n, err
		}
		c.awaitReply(c.readBy.at)
	}
}

// take is Read without waiting; ok is false if Read has to wait. Call take only if the gate keeps
// nothing back from the client (holds) or the connection has ended. mu is held.
func (c *Conn) take(p []byte) (n int, err error, ok bool) {
	there := c.in[c.read:]
	switch {
	case c.closed || c.gate.closed:
		return 0, net.ErrClosed, true
	case len(there) > 0 && !c.client.crashed:
		n := copy(p, there)
		if c.read += n; n == len(there) {
			c.in, c.read = c.in[:0], 0
		}
		return n, nil, true
	case c.inErr != nil && !c.client.crashed:
		return 0, c.inErr, true
	case c.readBy.passed():
		return 0, os.ErrDeadlineExceeded, true
	}
	return 0, nil, false
}

// Write implements net.Conn. It hands on whole commands, one by one, and keeps the
// beginning of an incomplete command until the rest comes.
func (c *Conn) Write(p []byte) (int, error) {
	select {
	case c.writer <- struct{}{}:
		defer c.writer.release()
	case <-c.ended:
	}
	select {
	case <-c.ended: // both cases above may have been ready
		return 0, net.ErrClosed
	default:
	}
	left := p
	if len(c.out) > 0 {
		c.out = append(c.out, p...)
		left = c.out
	}
	for len(left) > 0 {
		args, n, err := resp.Cut(left, &c.texts)
		if err == nil && n > 0 {
			err = c.send(left[:n:n], args)
		}
		if err != nil {
			c.out = c.out[:0]
			return 0, err
		}
		if n == 0 {
			break
		}
		left = left[n:]
	}
	c.out = append(c.out[:0], left...)
	return len(p), nil
}

// send numbers, logs and sends one command, and runs the functions of its points.
func (c *Conn) send(m resp.Message, args []history.Bytes) error {
	g, who := c.gate, waiter{c.client, c, writing}
	g.mu.Lock()
	defer g.unlock()
	if err := c.mayWrite(); err != nil {
		return err
	}
	if c.aside {
		by := c.writeBy.at
		g.mu.Unlock()
		err := c.handOn(m, by)
		g.mu.Lock()
		if err != nil {
			return err
		}
		return c.mayWrite()
	}
	cmd := c.count(args)
	if cmd.N > 0 {
		g.reach(&cmd, testbed.Before, who)
		if err := c.mayWrite(); err != nil {
			return err
		}
	}
	sent := c.log(cmd)
	by := c.writeBy.at
	g.mu.Unlock()
	err := c.handOn(m, by)
	g.mu.Lock()
	if err == nil && cmd.N > 0 {
		g.reach(&sent.Command, testbed.Sent, who)
	}
	sent.leaving = false
	broadcast(&c.wake)
	if err != nil {
		sent.clientDone = true
		c.finalize(sent)
		return err
	}
	return c.mayWrite()
}

// handOn writes to the connection below.
func (c *Conn) handOn(m resp.Message, by time.Time) error {
	if !by.Equal(c.deadline) {
		if err := c.inner.SetWriteDeadline(by); err != nil {
			return err
		}
		c.deadline = by
	}
	_, err := c.inner.Write(m)
	return err
}

// count returns the history.Command of a command that is about to be sent, and numbers it within the
// step if it counts (resp.Counts). The caller holds mu.
func (c *Conn) count(args []history.Bytes) history.Command {
	cl := c.client
	cmd := history.Command{
		Index: -1, Client: cl.id, Node: c.node, Conn: c.number, Phase: cl.phase, Op: cl.op, Args: args,
	}
	if resp.Counts(args) {
		c.counts.commands++
		cmd.N = c.counts.commands
	} else {
		cmd.Args = withoutPassword(args)
	}
	return cmd
}

// mayWrite waits while the client is paused, and returns an error if the client may not
// write. If the client has crashed, mayWrite waits for the write deadline. mu is held on
// entry and return.
func (c *Conn) mayWrite() error {
	for {
		c.gate.pass(waiter{c.client, c, writing}, c.ended)
		switch {
		case c.closed || c.gate.closed:
			return net.ErrClosed
		case !c.client.crashed:
			return nil
		case c.writeBy.passed():
			return os.ErrDeadlineExceeded
		}
		c.wait(c.writeBy)
		if c.gate.closed {
			c.gate.asleep(waiter{c.client, c, writing})
		}
	}
}

// Close implements net.Conn. It closes the connection below at once, with two exceptions. If the
// client is paused, the connection below is closed when the client is resumed. If the client has
// crashed, it is closed when the gate is closed.
func (c *Conn) Close() error {
	c.gate.mu.Lock()
	if c.closed {
		c.gate.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	close(c.ended)
	c.clientEnded()
	broadcast(&c.wake)
	c.signal()
	if c.alarm != nil {
		c.alarm.Stop()
	}
	frozen := c.client.crashed || len(c.client.pauses) > 0
	if !frozen {
		c.client.conns = slices.DeleteFunc(c.client.conns, func(other *Conn) bool { return other == c })
	}
	c.gate.unlock()
	if frozen {
		return nil
	}
	return c.inner.Close()
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.below().LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.below().RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, true, true) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, true, false) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, false, true) }

// SyscallConn implements syscall.Conn for code that checks whether an idle connection is still
// usable, as go-redis does before it uses a pooled connection. The Read method of the result fails
// if the connection has ended or has unread data. While the client is paused or crashed, Read fails
// only if the client has closed the connection. Read never calls its argument, since there is no
// file descriptor.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return idleCheck{c}, nil }

var (
	errUnasked      = errors.New("unexpected data on an idle connection")
	errNoDescriptor = errors.New("a connection through the gate has no file descriptor")
)

type idleCheck struct{ conn *Conn }

func (i idleCheck) Read(func(uintptr) bool) error {
	c := i.conn
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	switch {
	case c.closed:
		return net.ErrClosed
	case c.client.crashed || len(c.client.pauses) > 0:
		return nil
	case len(c.in) > c.read:
		return errUnasked
	}
	return c.inErr
}

func (i idleCheck) Write(func(uintptr) bool) error { return errNoDescriptor }
func (i idleCheck) Control(func(uintptr)) error    { return errNoDescriptor }
