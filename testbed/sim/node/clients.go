package node

import (
	"cmp"
	"slices"
)

// clients are a node's open sessions, the reply to the running command, and messages to sessions.
type clients struct {
	reply
	sessions []*Session // in the order of their numbers
	lastID   int
	current  *Session // session of the running command
	pushes   []Push
}

// Push is a message that answers no command: a published message or an invalidation. Messages about
// changes by Load or Evict, or by an expiry during Keys or Snapshot, are returned by the next call of
// Exec or Expire.
type Push struct {
	To      *Session
	Message []byte
}

// send queues what write writes as a push to a session, in the session's protocol.
func (c *clients) send(to *Session, write func()) {
	mark, resp3 := len(c.out), c.resp3
	c.resp3 = to.resp3
	write()
	c.pushes = append(c.pushes, Push{To: to, Message: slices.Clone(c.out[mark:])})
	c.out, c.resp3 = c.out[:mark], resp3
}

// message queues a push of these texts to a session.
func (c *clients) message(to *Session, texts ...string) {
	c.send(to, func() {
		c.push(len(texts))
		for _, text := range texts {
			c.bulk(text)
		}
	})
}

// takePushes returns and clears the accumulated messages, ordered by session.
func (c *clients) takePushes() []Push {
	pushes := c.pushes
	c.pushes = nil
	if len(pushes) > 1 {
		slices.SortStableFunc(pushes, func(a, b Push) int { return cmp.Compare(a.To.id, b.To.id) })
	}
	return pushes
}

// place finds a session in a list that is sorted by the sessions' numbers.
func (s *Session) place(in []*Session) (at int, found bool) {
	return slices.BinarySearchFunc(in, s.id, func(o *Session, id int) int { return o.id - id })
}

// leave removes the session from the list under a name, and the name if its list is then empty.
func (s *Session) leave(lists map[string][]*Session, name string) {
	rest := slices.DeleteFunc(lists[name], func(o *Session) bool { return o == s })
	if len(rest) == 0 {
		delete(lists, name)
		return
	}
	lists[name] = rest
}
