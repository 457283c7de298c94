package node

import (
	"slices"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

// transactionCommands run the commands for transactions.
var transactionCommands = map[string]handler{
	"multi": func(c call) written {
		if c.s.inMulti {
			return c.fail("ERR MULTI calls can not be nested")
		}
		c.s.inMulti = true
		return c.ok()
	},
	"discard": func(c call) written {
		if !c.s.inMulti {
			return c.fail("ERR DISCARD without MULTI")
		}
		c.s.endMulti()
		return c.ok()
	},
	"exec": call.exec,
	"watch": func(c call) written {
		s := c.s
		if s.inMulti {
			return c.fail("ERR WATCH inside MULTI is not allowed")
		}
		for _, key := range c.args[1:] {
			if s.watches[key] {
				continue
			}
			if s.watches == nil {
				s.watches = map[string]bool{}
			}
			s.watches[key] = true
			c.watched[key] = append(c.watched[key], s)
		}
		return c.ok()
	},
	"unwatch": func(c call) written {
		c.s.unwatch()
		return c.ok()
	},
}

const execAborted = "EXECABORT Transaction discarded because of: "

func (c call) exec() written {
	s := c.s
	if !s.inMulti {
		return c.fail("ERR EXEC without MULTI")
	}
	defer s.endMulti()
	switch {
	case s.aborted:
		return c.fail("EXECABORT Transaction discarded because of previous errors.")
	case s.dirty:
		return c.nullArray()
	case c.readOnly && s.queuedWrite():
		return c.fail(execAborted + readOnlyError)
	}
	s.unwatch() // so that the transaction's own writes do not touch this session's watches
	c.array(len(s.queue))
	for _, args := range s.queue {
		queued, _ := lookup(args)
		c.run(s, queued, args)
	}
	return written{}
}

func (s *Session) queuedWrite() bool {
	return slices.ContainsFunc(s.queue, func(args []string) bool {
		c, _ := lookup(args)
		return c.Is(resp.Write)
	})
}

func (s *Session) endMulti() {
	s.queue, s.inMulti, s.aborted = nil, false, false
	s.unwatch()
}

func (s *Session) unwatch() {
	for key := range s.watches {
		s.leave(s.node.watched, key)
	}
	s.watches, s.dirty = nil, false
}
