package node

import (
	"bytes"
	"fmt"
)

// run executes a command that has been checked.
func (n *Node) run(s *Session, c *command, args []string) {
	if c.run != nil {
		c.run(n, s, args)
	} else {
		n.runTyped(c, args)
	}
	if s.track.on && !s.track.bcast && c.is(readonly) {
		n.remember(s, c.keys(args))
	}
}

// runTyped has miniredis run a command, and accounts for what it changed.
func (n *Node) runTyped(c *command, args []string) {
	mark := len(n.out)
	if refusal := tooLarge(c, args); refusal != "" {
		n.fail(refusal)
		return
	}
	n.drew = n.drew || c.is(random)
	n.dispatch(args)
	if c.is(unordered) {
		sortBulks(n.out[mark:])
	}
	if n.resp3 && (n.out[mark] == '*' || n.out[mark] == '%') {
		n.shape3(c, args, mark)
	}
	if !c.is(write) || n.nothingChanged(c, mark) {
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

// maxSize bounds strings and the numbers of elements that one argument can ask for.
const maxSize = 64 << 20

// tooLarge refuses what would take all the memory before it could fail.
func tooLarge(c *command, args []string) (refusal string) {
	switch {
	case c.name == "setbit":
		if offset, ok := parseInt(args[2]); !ok || offset < 0 || offset/8 >= maxSize {
			return "ERR bit offset is not an integer or out of range"
		}
	case c.name == "setrange":
		if offset, ok := parseInt(args[2]); ok && offset > maxSize {
			return "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
		}
	case c.is(random) && len(args) > 2:
		if count, ok := parseInt(args[2]); ok && (count < -maxSize/64 || count > maxSize/64) {
			return "ERR value is out of range"
		}
	}
	return ""
}

// nothingChanged tells by its reply that a writing command wrote nothing.
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

// dispatch runs a command on miniredis, whose panics become errors.
func (n *Node) dispatch(args []string) {
	mark := len(n.out)
	defer func() {
		if p := recover(); p != nil {
			// Whether miniredis held its lock or not, now it does not.
			n.store.TryLock()
			n.store.Unlock()
			n.writer.Reset((*replyWriter)(n))
			n.out = n.out[:mark]
			n.fail(fmt.Sprintf("ERR the simulated node failed at '%s': %v", args[0], p))
		}
	}()
	n.peer.Resp3 = n.resp3
	n.types.Dispatch(n.peer, args)
	_ = n.writer.Flush() // never fails: it appends to out
}
