package gate

import (
	"net"
	"slices"
)

// Exchange lets two idle connections of one client to one node change places: from
// now on each client's end leads to the other's connection below, with its number.
// It reports whether they did. They do not if anything tells them apart: something
// is under way or was cut off in the middle, one has ended, one is subscribed.
//
// It is for a testbed that decides which sender uses which connection, whatever the pool
// chose. The caller swaps the connections' deliveries below, too, before anything comes.
func (c *Conn) Exchange(o *Conn) bool {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c == o || c.client != o.client || c.node != o.node || !c.blank() || !o.blank() {
		return false
	}
	if !c.hold() {
		return false
	}
	defer c.release()
	if !o.hold() {
		return false
	}
	defer o.release()
	if len(c.out)+len(o.out) > 0 {
		return false
	}
	c.inner, o.inner = o.inner, c.inner
	c.number, o.number = o.number, c.number
	c.deadline, o.deadline = o.deadline, c.deadline
	c.replies, o.replies = o.replies, c.replies
	slices.SortFunc(c.client.conns, (*Conn).compare)
	return true
}

// blank says whether the connection is good for any command, and nothing is under
// way on it. Gate.mu is held.
func (c *Conn) blank() bool {
	return !c.closed && c.inErr == nil && !c.aside && !c.nodeDone && c.observed && c.inner != nil && !c.admitting &&
		c.read == len(c.in) && len(c.records.Live()) == 0 && len(c.arrivals.Live()) == 0 &&
		c.replies.Idle()
}

// hold takes the writer's lock, unless somebody writes.
func (c *Conn) hold() bool {
	select {
	case c.writer <- struct{}{}:
		return true
	default:
		return false
	}
}

func (c *Conn) release() { <-c.writer }

// below is the connection that this one is a wrapper of.
func (c *Conn) below() net.Conn {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.inner
}
