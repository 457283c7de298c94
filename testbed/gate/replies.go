package gate

import (
	"bytes"
	"net"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// Pusher may be implemented by the connection below the gate: it delivers messages
// instead of being read. That saves a goroutine for every connection, and for every reply
// the switch to it.
type Pusher interface {
	net.Conn
	// OnMessage sets the receiver: deliver is called with each message as soon as it is
	// complete, in order and never concurrently; and, if the connection ends from below,
	// once with the error that Read would return from then on. Messages that came before
	// OnMessage are delivered in it or soon after.
	//
	// Deliver does not block, and keeps nothing of m. It takes the gate's lock,
	// under which the gate calls nothing of the connection's: the Pusher may
	// call it with its own locks held. After Close of the Pusher it may be
	// called or not.
	//
	// The gate calls OnMessage once, before Gate.Dial returns, and never Read or
	// SetReadDeadline.
	OnMessage(deliver func(m resp.Message, err error))
}

// pump reads replies until the connection ends.
func (c *Conn) pump() {
	r := resp.NewReader(c.inner)
	for {
		m, err := resp.Read(r)
		if err != nil {
			c.gate.mu.Lock()
			c.broken(err)
			c.gate.unlock()
			return
		}
		c.receive(m)
	}
}

// receive takes one message through the gate.
func (c *Conn) receive(m resp.Message) {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	if c.lost() {
		return
	}
	a := arrival{m: m, answered: c.record(c.replies.Received(m))}
	c.delay(a)
	c.admit(a)
}

// deliver takes one message, or the error after the last, through the gate. A message
// that cannot pass at once waits with a goroutine of its own, and later ones wait behind
// it.
func (c *Conn) deliver(m resp.Message, err error) {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	if c.lost() {
		return
	}
	a := arrival{m: m, err: err}
	if err == nil {
		a.answered = c.record(c.replies.Received(m))
	}
	switch {
	case c.admitting:
		a.m = bytes.Clone(m)
		c.arrivals.Push(a)
	case err != nil:
		c.broken(err)
	case c.calm(a.answered):
		c.admit(a)
	default:
		a.m = bytes.Clone(m)
		c.arrivals.Push(a)
		c.admitting = true
		c.gate.pumps.Go(c.admitAll)
	}
}

// arrival is a message that has come, or the error after the last.
type arrival struct {
	m        resp.Message
	err      error
	answered *record // the command that m answers, nil if none
}

// admitAll admits, one after the other, the messages that have come and those that come
// meanwhile.
func (c *Conn) admitAll() {
	c.gate.mu.Lock()
	defer c.gate.unlock()
	for len(c.arrivals.Live()) > 0 {
		a := c.arrivals.Live()[0]
		c.arrivals.Remove(0)
		if a.err != nil {
			c.broken(a.err)
			continue
		}
		c.delay(a)
		c.admit(a)
	}
	c.admitting = false
}

// lost says whether new messages are lost: the client crashed, or the connection or the
// gate is closed. mu is held.
func (c *Conn) lost() bool { return c.client.crashed || c.closed || c.gate.closed }

// calm says whether a message that answers r passes at once. mu is held.
func (c *Conn) calm(r *record) bool {
	return len(c.client.pauses) == 0 &&
		(r == nil || !r.leaving && (r.N == 0 || !c.gate.awaited(&r.Command, testbed.Replied)))
}

// delay holds an arrival while its command's points or a pause require it. mu is held on
// entry and return.
func (c *Conn) delay(a arrival) {
	r := a.answered
	for r != nil && r.leaving && !c.lost() {
		c.wait(deadline{}) // its Sent points come first
	}
	if r != nil && r.N > 0 && !c.lost() {
		r.note(a.m)
		c.gate.reach(&r.Command, testbed.Replied, waiter{c.client, c, receiving})
	}
	if !c.gate.outside() {
		c.gate.pass(waiter{c.client, c, receiving}, c.ended)
	}
}

// admit lets a message through to the client. mu is held.
func (c *Conn) admit(a arrival) {
	if c.lost() {
		return
	}
	if r := a.answered; r != nil {
		r.note(a.m)
		if c.gate.outside() && len(c.client.pauses) > 0 {
			c.client.keep(r)
		} else {
			r.Replied = c.gate.clock()
			r.clientDone = true
			c.settle(r)
		}
	}
	c.in = append(c.in, a.m...)
	c.signal()
}

// note keeps the reply, unless the node's side has done so.
func (r *record) note(m resp.Message) {
	if !r.served {
		r.Reply = m.Compact()
	}
}

// broken says that the connection has ended below. mu is held.
func (c *Conn) broken(err error) {
	c.inErr = err
	c.clientEnded()
	c.signal()
}
