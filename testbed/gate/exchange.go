package gate

import (
	"net"
	"slices"
)

// Exchange swaps the testbed's connections that c and o wrap, together with their numbers. c and o
// are idle, observed connections of one client to one node. Exchange returns false, and swaps
// nothing, if the two can be told apart: a command is under way or incomplete, or one connection has
// ended or was ever subscribed.
//
// Exchange is for a testbed that decides which sender uses which connection, whatever the
// pool chose. Before the next message, the caller must also swap the functions that the testbed's
// connections got by Pusher.OnMessage.
func (c *Conn) Exchange(o *Conn) bool {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c == o || c.client != o.client || c.node != o.node || !c.blank() || !o.blank() {
		return false
	}
	if !c.writer.try() {
		return false
	}
	defer c.writer.release()
	if !o.writer.try() {
		return false
	}
	defer o.writer.release()
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

// blank reports whether the connection is usable for any command and has nothing under way.
// Gate.mu is held.
func (c *Conn) blank() bool {
	return !c.closed && c.inErr == nil && !c.aside && !c.nodeDone && c.observed && c.inner != nil && !c.admitting &&
		c.read == len(c.in) && len(c.records.Live()) == 0 && len(c.arrivals.Live()) == 0 &&
		c.replies.Idle()
}

// writeLock is a lock that one call of Write holds, perhaps for long.
type writeLock chan struct{}

// try takes the lock if it is free, and reports whether it was.
func (l writeLock) try() bool {
	select {
	case l <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l writeLock) release() { <-l }

// below returns the connection that c wraps.
func (c *Conn) below() net.Conn {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.inner
}
