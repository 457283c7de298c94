package testbed

import (
	"cmp"
	"errors"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Conn is a client's end of one connection, seen through the gate.
//
// A goroutine of its own reads replies ahead of the client; the client's reads
// take what it let through. So it knows when a reply is there although the
// client does not look, and deadlines can stand still.
type Conn struct {
	gate   *Gate
	client *gateClient
	node   string
	number int // among the client's dials of that node, from 1
	inner  net.Conn
	ended  chan struct{} // closed by Close
	writer chan struct{} // a lock that may be held for long

	// Gate.mu guards the rest, but for out.
	out      []byte // held by writer: the beginning of a command
	in       []byte // replies that the client may read
	inErr    error  // why there will be no more
	closed   bool
	readBy   deadline
	writeBy  deadline
	wake     chan struct{} // closed and replaced when any of the above changes
	replies  Replies
	records  map[int]*record // by number on this connection
	observed bool
	nodeDone bool
}

func newConn(g *Gate, cl *gateClient, node string, number int) *Conn {
	return &Conn{
		gate: g, client: cl, node: node, number: number,
		ended: make(chan struct{}), writer: make(chan struct{}, 1), wake: make(chan struct{}),
		records: map[int]*record{},
	}
}

// Number is the connection's number as in history.Command.Conn: among all dials
// of its client to its node, from 1.
func (c *Conn) Number() int { return c.number }

func (c *Conn) compare(other *Conn) int {
	return cmp.Or(cmp.Compare(c.node, other.node), cmp.Compare(c.number, other.number))
}

func (c *Conn) changed() {
	close(c.wake)
	c.wake = make(chan struct{})
}

// wait until something about the connection or its client changes, or the
// deadline has passed. mu is held on entry and return.
func (c *Conn) wait(d deadline) {
	var expired <-chan time.Time
	if !d.at.IsZero() {
		t := time.NewTimer(time.Until(d.at))
		defer t.Stop()
		expired = t.C
	}
	mine, clients := c.wake, c.client.wake
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
		if c.gate.closed && waited || held && len(c.client.pauses) == 0 {
			c.gate.asleep(waiter{c.client, c, reading})
			held = len(c.client.pauses) > 0
		}
		switch {
		case c.closed || c.gate.closed:
			return 0, net.ErrClosed
		case len(c.client.pauses) > 0:
			c.wait(deadline{})
			held = true
			continue
		case len(c.in) > 0 && !c.client.crashed:
			n := copy(p, c.in)
			c.in = c.in[n:]
			return n, nil
		case c.inErr != nil && !c.client.crashed:
			return 0, c.inErr
		case c.readBy.passed():
			return 0, os.ErrDeadlineExceeded
		}
		c.wait(c.readBy)
	}
}

// Write implements net.Conn. Commands are handed on whole, one by one: the
// beginning of a command stays here until its end comes.
func (c *Conn) Write(p []byte) (int, error) {
	select {
	case c.writer <- struct{}{}:
		defer func() { <-c.writer }()
	case <-c.ended:
	}
	select {
	case <-c.ended: // whichever of both was chosen
		return 0, net.ErrClosed
	default:
	}
	c.out = append(c.out, p...)
	for {
		m, whole, err := cutMessage(c.out)
		if err != nil {
			return 0, err
		}
		if !whole {
			return len(p), nil
		}
		if err := c.send(m); err != nil {
			return 0, err
		}
		c.out = c.out[len(m):]
	}
}

// send takes one command through the gate.
func (c *Conn) send(m Message) error {
	args, err := m.Args()
	if err != nil {
		return err
	}
	c.gate.mu.Lock()
	defer c.gate.unlock()
	if err := c.mayWrite(); err != nil {
		return err
	}
	cmd := c.count(args)
	if cmd.N > 0 {
		c.gate.reach(cmd, Before, waiter{c.client, c, writing})
		if err := c.mayWrite(); err != nil {
			return err
		}
	}
	sent := c.log(cmd)
	by := c.writeBy.at
	c.gate.mu.Unlock()
	err = c.inner.SetWriteDeadline(by)
	if err == nil {
		_, err = c.inner.Write(m)
	}
	c.gate.mu.Lock()
	if err == nil && cmd.N > 0 {
		c.gate.reach(sent.Command, Sent, waiter{c.client, c, writing})
	}
	sent.leaving = false
	c.changed()
	if err != nil {
		sent.clientDone = true
		c.settle(sent)
		return err
	}
	return c.mayWrite()
}

// count describes a command that is about to be sent and gives it its number in
// the step. mu is held.
func (c *Conn) count(args []history.Bytes) history.Command {
	cl := c.client
	cmd := history.Command{
		Index: -1, Client: cl.id, Node: c.node, Conn: c.number, Phase: cl.phase, Op: cl.op, Args: args,
	}
	if Counts(args) {
		cl.counts[c.node]++
		cmd.N = cl.counts[c.node]
	}
	return cmd
}

// mayWrite waits while the client is paused, and once it crashed until the
// deadline. mu is held on entry and return.
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

// pump reads replies until the connection ends.
func (c *Conn) pump() {
	r := NewReader(c.inner)
	for {
		m, err := ReadMessage(r)
		if err != nil {
			c.gate.mu.Lock()
			c.inErr = err
			c.clientEnded()
			c.changed()
			c.gate.unlock()
			return
		}
		c.receive(m)
	}
}

// receive takes one reply through the gate. A crashed or closed client's is lost.
func (c *Conn) receive(m Message) {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	lost := func() bool { return c.client.crashed || c.closed || c.gate.closed }
	if lost() {
		return
	}
	answered := c.records[c.replies.Received(m)]
	for answered != nil && answered.leaving && !lost() {
		c.wait(deadline{}) // what its Sent points do comes first
	}
	if answered != nil && !lost() {
		answered.Reply = m.Compact()
		if answered.N > 0 {
			c.gate.reach(answered.Command, Replied, waiter{c.client, c, receiving})
		}
	}
	c.gate.pass(waiter{c.client, c, receiving}, c.ended)
	if lost() {
		return
	}
	if answered != nil {
		answered.Replied = c.gate.clock()
		answered.clientDone = true
		c.settle(answered)
	}
	c.in = append(c.in, m...)
	c.changed()
}

// Close implements net.Conn. A paused client's connection is closed when it is
// resumed, a crashed one's with the gate.
func (c *Conn) Close() error {
	c.gate.mu.Lock()
	if c.closed {
		c.gate.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	close(c.ended)
	c.clientEnded()
	c.changed()
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
func (c *Conn) LocalAddr() net.Addr { return c.inner.LocalAddr() }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.inner.RemoteAddr() }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error { return c.setDeadlines(t, &c.readBy, &c.writeBy) }

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.readBy) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writeBy) }

func (c *Conn) setDeadlines(t time.Time, which ...*deadline) error {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	for _, d := range which {
		*d = deadline{at: t, set: time.Now()}
	}
	c.changed()
	return nil
}

// SyscallConn implements syscall.Conn for those who look whether an idle
// connection is still good, as go-redis does before it uses one from its pool:
// Read of the result fails if the connection has ended or something unasked has
// come, and never calls its argument. There is no file descriptor behind it.
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
	case len(c.in) > 0:
		return errUnasked
	}
	return c.inErr
}

func (i idleCheck) Write(func(uintptr) bool) error { return errNoDescriptor }
func (i idleCheck) Control(func(uintptr)) error    { return errNoDescriptor }
