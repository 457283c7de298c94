package node

import (
	"bytes"
	"fmt"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// run runs a command that has been checked.
func (n *Node) run(s *Session, c *command, args []string) {
	if c.run != nil {
		c.run(n, s, args)
	} else {
		n.runTyped(c, args)
	}
	if s.track.on && !s.track.bcast && c.Is(resp.ReadOnly) {
		n.remember(s, resp.Keys(c.Command, args))
	}
}

// runTyped runs a command on miniredis, and accounts for its changes.
func (n *Node) runTyped(c *command, args []string) {
	mark := len(n.out)
	if !n.checked(c, args) {
		return
	}
	n.drew = n.drew || c.is(random)
	n.dispatch(spelled(c, args))
	if c.is(unordered) {
		sortBulks(n.out[mark:])
	}
	if n.resp3 && (n.out[mark] == '*' || n.out[mark] == '%') {
		n.shape3(c, args, mark)
	}
	if !c.Is(resp.Write) || n.nothingChanged(c, mark) {
		return
	}
	for _, key := range c.written(args) {
		if c.is(overwrites) {
			delete(n.keys.deadlines, key)
			if bytes.Equal(n.out[mark:], []byte(":0\r\n")) {
				n.db.Del(key) // miniredis keeps empty sets
			}
		}
		n.touch(key)
	}
}

// nothingChanged reports whether a write command changed nothing, judging by its reply, which
// starts at mark.
func (n *Node) nothingChanged(c *command, mark int) bool {
	reply := n.out[mark:]
	switch reply[0] {
	case '-', '_':
		return true
	case '$':
		return bytes.HasPrefix(reply, []byte("$-1"))
	case '*':
		return bytes.HasPrefix(reply, []byte("*-1")) || bytes.HasPrefix(reply, []byte("*0"))
	case ':':
		return c.is(zeroIsNothing) && bytes.Equal(reply, []byte(":0\r\n"))
	}
	return false
}

// dispatch runs a command on miniredis. If miniredis panics, the reply is an error.
func (n *Node) dispatch(args []string) {
	mark := len(n.out)
	defer func() {
		if p := recover(); p != nil {
			// Release miniredis's lock, whether it was held or not.
			n.store.TryLock()
			n.store.Unlock()
			n.writer.Reset((*replyWriter)(n))
			n.out = n.out[:mark]
			text := fmt.Sprintf("the simulated node failed at '%s': %v", args[0], p)
			n.lacks(text)
			n.fail("ERR " + text)
		}
	}()
	n.peer.Resp3 = n.resp3
	n.types.Dispatch(n.peer, args)
	_ = n.writer.Flush() // never fails: it appends to out
}
