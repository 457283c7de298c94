package node

import (
	"slices"

	"github.com/lockstorm/lockstorm/testbed/resp"
)

func (n *Node) cmdMulti(s *Session, _ []string) {
	if s.inMulti {
		n.fail("ERR MULTI calls can not be nested")
		return
	}
	s.inMulti = true
	n.ok()
}

func (n *Node) cmdDiscard(s *Session, _ []string) {
	if !s.inMulti {
		n.fail("ERR DISCARD without MULTI")
		return
	}
	s.endMulti()
	n.ok()
}

const execAborted = "EXECABORT Transaction discarded because of: "

func (n *Node) cmdExec(s *Session, _ []string) {
	switch {
	case !s.inMulti:
		n.fail("ERR EXEC without MULTI")
	case s.aborted:
		s.endMulti()
		n.fail("EXECABORT Transaction discarded because of previous errors.")
	case s.dirty:
		s.endMulti()
		n.nullArray()
	case n.readOnly && s.queuedWrite():
		s.endMulti()
		n.fail(execAborted + readOnlyError)
	default:
		queue := s.queue
		s.unwatch() // so that the transaction's own writes do not touch this session's watches
		n.array(len(queue))
		for _, args := range queue {
			c, _ := lookup(args)
			n.run(s, c, args)
		}
		s.endMulti()
	}
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

func (n *Node) cmdWatch(s *Session, args []string) {
	if s.inMulti {
		n.fail("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, key := range args[1:] {
		if s.watches[key] {
			continue
		}
		if s.watches == nil {
			s.watches = map[string]bool{}
		}
		s.watches[key] = true
		n.watched[key] = append(n.watched[key], s)
	}
	n.ok()
}

func (n *Node) cmdUnwatch(s *Session, _ []string) {
	s.unwatch()
	n.ok()
}

func (s *Session) unwatch() {
	for key := range s.watches {
		rest := slices.DeleteFunc(s.node.watched[key], func(o *Session) bool { return o == s })
		if len(rest) == 0 {
			delete(s.node.watched, key)
		} else {
			s.node.watched[key] = rest
		}
	}
	s.watches, s.dirty = nil, false
}

// touchWatched makes the transactions that watch the key fail.
func (n *Node) touchWatched(key string) {
	if len(n.watched) == 0 {
		return
	}
	for _, s := range n.watched[key] {
		s.dirty = true
	}
}
