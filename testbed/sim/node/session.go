package node

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// Session is the node's side of a client connection.
type Session struct {
	node  *Node
	id    int
	name  string
	resp3 bool

	subscribed  map[string]bool // channels
	psubscribed map[string]bool // patterns

	queue   [][]string // commands queued since MULTI
	inMulti bool
	aborted bool // a command was refused since MULTI, so that EXEC will fail
	watches map[string]bool
	dirty   bool // a watched key was touched, so that EXEC will do nothing

	track trackingMode
}

// Queueing reports whether the session is between MULTI and EXEC.
func (s *Session) Queueing() bool { return s.inMulti }

// Resembles reports whether the sessions differ only in their numbers: neither has a name, an open
// transaction, watched keys, subscriptions or tracking, and both use the same protocol.
func (s *Session) Resembles(o *Session) bool { return s.blank() && o.blank() && s.resp3 == o.resp3 }

// blank reports whether the session has no lasting state except its protocol.
func (s *Session) blank() bool {
	return !s.inMulti && len(s.watches) == 0 && s.subscriptions() == 0 && s.name == "" && !s.track.on
}

// Connect opens a session.
func (n *Node) Connect() *Session {
	n.lastID++
	s := &Session{node: n, id: n.lastID}
	n.sessions = append(n.sessions, s)
	return s
}

// Close ends the session: its subscriptions, tracking and transaction. It may be
// called twice.
func (s *Session) Close() {
	s.reset()
	s.node.tracking.forget(s)
	s.node.sessions = slices.DeleteFunc(s.node.sessions, func(o *Session) bool { return o == s })
}

// reset makes the session as new, but keeps its number.
func (s *Session) reset() {
	n := s.node
	n.channels.dropAll(s, s.subscribed)
	n.patterns.dropAll(s, s.psubscribed)
	n.tracking.stop(s)
	s.unwatch()
	*s = Session{node: n, id: s.id}
}

// Exec runs one command at the time now of the node's wall clock. reply holds all messages
// that answer the command, in RESP, and is never empty. pushes are messages to sessions, in
// the order of the sessions' numbers. The caller may keep both.
func (s *Session) Exec(now time.Time, args []string) (reply []byte, pushes []Push) {
	n := s.node
	n.tick(now)
	n.out, n.current = n.out[:0], s
	if len(args) == 0 {
		n.fail("ERR the simulated node got a command without a name")
	} else {
		s.command(args)
	}
	n.giveLife()
	n.tracking.broadcast()
	n.report(history.ByCommand)
	n.current = nil
	return append(make([]byte, 0, len(n.out)), n.out...), n.takePushes()
}

// command checks and runs one command, or queues it.
func (s *Session) command(args []string) {
	n := s.node
	n.resp3 = s.resp3
	c, container := lookup(args)
	if refusal := s.refusal(c, container, args); refusal != "" {
		if c != nil && c.name == "exec" {
			s.endMulti()
			refusal = execAborted + strings.TrimPrefix(refusal, "ERR ")
		}
		s.aborted = s.aborted || s.inMulti
		n.fail(refusal)
		return
	}
	if s.inMulti && !c.is(immediate) {
		s.queue = append(s.queue, slices.Clone(args))
		n.status("QUEUED")
		return
	}
	n.run(s, c, args)
	if !s.inMulti && container != commands["client"] {
		s.track.caching = ""
	}
}

// refusal returns the error reply to a command that must not run, and "" for other commands.
// The checks are in Redis's order.
func (s *Session) refusal(c, container *command, args []string) string {
	switch {
	case c == nil && container != nil:
		return "ERR unknown subcommand '" + cut(args[1], 128) + "'. Try " + strings.ToUpper(container.name) + " HELP."
	case c == nil:
		return unknown(args)
	case !c.fits(args):
		return wrongNumber(c.name)
	case c.run == nil:
		return s.node.lacks("the command '" + c.name + "'")
	case s.node.readOnly && c.Is(resp.Write):
		return readOnlyError
	case !s.resp3 && s.subscriptions() > 0 && !c.is(whileSubscribed) && !c.Is(resp.Subscribes):
		return "ERR Can't execute '" + c.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
	}
	return ""
}

const readOnlyError = "READONLY You can't write against a read only replica."

func unknown(args []string) string {
	var b strings.Builder
	b.WriteString("ERR unknown command '" + cut(args[0], 128) + "', with args beginning with: ")
	for i, length := 1, 0; i < len(args) && length < 128; i++ {
		arg := cut(args[i], 128-length)
		length += len(arg) + 3
		b.WriteString("'" + arg + "' ")
	}
	return b.String()
}

// cut shortens a client's text for an error message as C does: it ends before the first zero
// byte, and after at most n bytes.
func cut(s string, n int) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s[:min(len(s), n)]
}

func wrongNumber(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// lacks returns the error for something that Redis has and the node lacks, and notes the lack for Lacking,
// unless an earlier one is noted.
func (n *Node) lacks(what string) string {
	text := "the simulated node does not support " + what
	n.lacking = cmp.Or(n.lacking, text)
	return "ERR " + text
}
