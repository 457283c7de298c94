package gate

import (
	"bytes"
	"net"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// Pusher may be implemented by the connection below the gate. A Pusher delivers messages; the
// gate does not read it. This saves a goroutine per connection and a goroutine switch per
// reply.
type Pusher interface {
	net.Conn
	// OnMessage sets the receiver: deliver is called with each message as soon as it is
	// complete, in order and never concurrently. If the connection ends from below, deliver
	// is called once with the error that Read would return from then on. Messages that came
	// before OnMessage are delivered during the call or soon after.
	//
	// Deliver does not block, and does not keep m. It takes the gate's lock. With that lock
	// held, the gate calls no methods of the connection, so the Pusher may call deliver
	// with its own locks held. The Pusher may still call deliver after its Close.
	//
	// The gate calls OnMessage once, before Gate.Dial returns. It never calls Read or
	// SetReadDeadline.
	OnMessage(deliver func(m resp.Message, err error))
}

// pump reads replies until the connection ends.
func (c *Conn) pump() {
	r := resp.NewReader(c.inner)
	for {
		m, err := resp.Read(r)
		c.deliver(m, err)
		if err != nil {
			return
		}
	}
}

// deliver takes one message from below, or the error after the last message. A message that cannot pass
// at once, because of a point of the answered command or a pause of the client, waits in arrivals until
// a goroutine admits it; later messages wait behind it.
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

// arrival is a received message, or the error after the last one.
type arrival struct {
	m        resp.Message
	err      error
	answered *record // the command that m answers, nil if none
}

// admitAll admits the messages in arrivals in order, including those that come meanwhile.
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

// lost reports whether new messages are lost: the client has crashed, or the connection or
// the gate is closed. mu is held.
func (c *Conn) lost() bool { return c.client.crashed || c.closed || c.gate.closed }

// calm reports whether a message may reach the client at once: no pause and no point holds it back.
// r is the command that the message answers; nil = none. mu is held.
func (c *Conn) calm(r *record) bool {
	return len(c.client.pauses) == 0 &&
		(r == nil || !r.leaving && (r.N == 0 || !c.gate.awaited(&r.Command, testbed.Replied)))
}

// delay waits while points of the answered command, or a pause, hold back the message. mu
// is held on entry and return.
func (c *Conn) delay(a arrival) {
	r := a.answered
	for r != nil && r.leaving && !c.lost() {
		c.wait(deadline{}) // the functions of the command's Sent points run first
	}
	if r != nil && r.N > 0 && !c.lost() {
		r.note(a.m)
		c.gate.reach(&r.Command, testbed.Replied, waiter{c.client, c, receiving})
	}
	c.gate.pass(waiter{c.client, c, receiving}, c.ended)
}

// admit lets a message through to the client. mu is held.
func (c *Conn) admit(a arrival) {
	if c.lost() {
		return
	}
	if r := a.answered; r != nil {
		r.note(a.m)
		r.Replied = c.gate.clock()
		r.clientDone = true
		c.finalize(r)
	}
	c.in = append(c.in, a.m...)
	c.signal()
}

// note records the reply, unless the node's side has recorded it.
func (r *record) note(m resp.Message) {
	if !r.served {
		r.Reply = m.Compact()
	}
}

// broken notes that the connection below has ended. mu is held.
func (c *Conn) broken(err error) {
	c.inErr = err
	c.clientEnded()
	c.signal()
}
