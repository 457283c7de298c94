package node_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/internal/redisserver"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// redisServer is the real node of this package's tests, a local redis-server without
// persistence. All tests share the server, since each test case empties it first.
var redisServer *redisserver.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if redisServer != nil {
		if err := redisServer.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "close redis-server:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// realAddr returns the server's address, and starts the server if no test has started it.
// Without redis-server the test fails, because it would compare nothing.
func realAddr(t testing.TB) string {
	t.Helper()
	if redisServer == nil {
		s, err := redisserver.Start(context.Background(), redisserver.Options{})
		if err != nil {
			t.Fatal("nothing to compare the simulated node with: ", err)
		}
		redisServer = s
	}
	return redisServer.Addr()
}

// realNode is the real server, with the sessions of the running test case and one more
// connection.
type realNode struct {
	clock    *wire // the connection that asks for the time if a session cannot
	sessions []*realSession
	readOnly bool
}

func connectReal(t testing.TB, sessions int) *realNode {
	t.Helper()
	n := &realNode{clock: dial(t)}
	for range sessions {
		n.sessions = append(n.sessions, &realSession{wire: dial(t), clock: n.clock})
	}
	return n
}

// reset empties the server and resets the sessions.
func (n *realNode) reset() error {
	for _, s := range n.sessions {
		if err := s.reset(); err != nil {
			return err
		}
	}
	if err := n.setReadOnly(false); err != nil {
		return err
	}
	for _, args := range [][]string{{"FLUSHALL"}, {"SCRIPT", "FLUSH"}} {
		if err := n.order(args...); err != nil {
			return err
		}
	}
	return nil
}

// setReadOnly makes the server a replica of a primary that it can never reach, or a primary
// again.
func (n *realNode) setReadOnly(yes bool) error {
	switch {
	case yes == n.readOnly:
		return nil
	case yes:
		n.readOnly = true
		return n.order("REPLICAOF", "127.0.0.1", "1")
	default:
		n.readOnly = false
		return n.order("REPLICAOF", "NO", "ONE")
	}
}

// order sends a command whose reply must be OK.
func (n *realNode) order(args ...string) error {
	if m, err := n.clock.ask(args); err != nil || !bytes.HasPrefix(m, []byte("+OK")) {
		return fmt.Errorf("%v: %q, %v", args, m, err)
	}
	return nil
}

// interval is the server's time just before and just after it ran a command.
type interval struct{ from, to time.Time }

// exact reports whether the interval lies in one millisecond. Then the time at which Redis ran
// the command is known in milliseconds.
func (i interval) exact() bool { return i.from.UnixMilli() == i.to.UnixMilli() }

// realSession is a connection to the real server. It tracks the part of the connection's state
// that decides how to ask for the time.
type realSession struct {
	*wire
	clock         *wire
	multi         bool
	subscriptions int
	three         bool // the session speaks RESP3
	caching       bool // CLIENT CACHING applies to the next command, unless that is CLIENT
	pings         int
	pushes        []resp.Message // pushed messages that drain has not returned yet
}

// subscribed reports whether the session has subscriptions and speaks RESP2. Redis then refuses
// most commands on the session.
func (s *realSession) subscribed() bool { return s.subscriptions > 0 && !s.three }

// sideways lists the commands around which TIME cannot be sent on the same connection.
var sideways = map[string]bool{
	"MULTI": true, "EXEC": true, "DISCARD": true,
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true,
	"HELLO": true,
}

// do runs one command and returns the messages that answer it, and the interval in which it
// ran. TIME, the command and TIME go out in one write, so that Redis runs them without a pause.
// If the session cannot send TIME, the connection clock asks for the time before and after the
// command.
func (s *realSession) do(args []string) (reply []resp.Message, at interval, err error) {
	name := strings.ToUpper(args[0])
	wasCaching := s.caching
	s.caching = commandName(args) == "CLIENT CACHING" || wasCaching && name == "CLIENT"
	if s.multi || s.subscribed() || s.caching || wasCaching || sideways[name] {
		if at.from, err = s.clock.time(); err != nil {
			return nil, at, err
		}
		reply, err = s.doAlone(name, args)
		if err == nil {
			at.to, err = s.clock.time()
		}
		return reply, at, err
	}
	if err := s.send([]string{"TIME"}, args, []string{"TIME"}); err != nil {
		return nil, at, err
	}
	var three [3]resp.Message
	for i := range three {
		if three[i], err = s.readReply(); err != nil {
			return nil, at, err
		}
	}
	var err1, err2 error
	at.from, err1 = timeOf(three[0])
	at.to, err2 = timeOf(three[2])
	return three[1:2], at, errors.Join(err1, err2)
}

// doAlone runs a command without TIME around it.
func (s *realSession) doAlone(name string, args []string) ([]resp.Message, error) {
	if err := s.send(args); err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, "SUBSCRIBE") && !s.multi {
		return s.confirmations()
	}
	m, err := s.readReply()
	if err != nil {
		return nil, err
	}
	switch {
	case name == "HELLO" && (m[0] == '%' || m[0] == '*'):
		s.three = m[0] == '%'
	case name == "MULTI" && m[0] == '+':
		s.multi = true
	case name == "EXEC" || name == "DISCARD" && len(args) == 1: // an EXEC with arguments ends the transaction, too
		s.multi = false
	}
	return []resp.Message{m}, nil
}

// confirmations reads all replies to a SUBSCRIBE or similar command: the messages before the
// reply to a PING that it sends.
func (s *realSession) confirmations() ([]resp.Message, error) {
	replies, err := s.untilPing()
	if err != nil || len(replies) == 0 {
		return replies, err
	}
	if v := parse(replies[len(replies)-1]); len(v.elems) == 3 {
		if s.subscriptions, err = strconv.Atoi(v.elems[2].text); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// drain returns the messages that the server has pushed to this session since the last drain.
func (s *realSession) drain() ([]resp.Message, error) {
	replies, err := s.untilPing()
	switch {
	case err != nil:
		return nil, err
	case len(replies) > 0:
		return nil, fmt.Errorf("replies that nobody asked for: %q", replies)
	}
	pushes := s.pushes
	s.pushes = nil
	return pushes, nil
}

func (s *realSession) untilPing() (replies []resp.Message, err error) {
	s.pings++
	mark := fmt.Sprintf("mark-%d", s.pings)
	if err := s.send([]string{"PING", mark}); err != nil {
		return nil, err
	}
	for {
		m, err := s.readReplyOr(mark)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(m, []byte(mark)) {
			return replies, nil
		}
		replies = append(replies, m)
	}
}

// readReply reads the next message that is a reply, and puts the messages before it in pushes.
func (s *realSession) readReply() (resp.Message, error) { return s.readReplyOr("") }

func (s *realSession) readReplyOr(mark string) (resp.Message, error) {
	for {
		m, err := s.read()
		if err != nil {
			return nil, err
		}
		if !isPush(m) || mark != "" && bytes.Contains(m, []byte(mark)) {
			return m, nil
		}
		s.pushes = append(s.pushes, m)
	}
}

func (s *realSession) reset() error {
	if err := s.send([]string{"RESET"}); err != nil {
		return err
	}
	for {
		m, err := s.read()
		if err != nil {
			return err
		}
		if string(m) == "+RESET\r\n" {
			s.multi, s.caching, s.subscriptions, s.pushes, s.three = false, false, 0, nil, false
			return nil
		}
	}
}

// wire is a connection that speaks RESP.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t testing.TB) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", realAddr(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &wire{conn: conn, in: resp.NewReader(conn)}
}

// replyTimeout limits the wait for a reply. It is long because the machine may be busy.
const replyTimeout = 30 * time.Second

func (w *wire) send(commands ...[]string) error {
	var b bytes.Buffer
	for _, args := range commands {
		fmt.Fprintf(&b, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
		}
	}
	if err := w.conn.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
		return err
	}
	_, err := w.conn.Write(b.Bytes())
	return err
}

func (w *wire) read() (resp.Message, error) { return resp.Read(w.in) }

func (w *wire) ask(args []string) (resp.Message, error) {
	if err := w.send(args); err != nil {
		return nil, err
	}
	return w.read()
}

func (w *wire) time() (time.Time, error) {
	if err := w.send([]string{"TIME"}); err != nil {
		return time.Time{}, err
	}
	return w.readTime()
}

func (w *wire) readTime() (time.Time, error) {
	m, err := w.read()
	if err != nil {
		return time.Time{}, err
	}
	return timeOf(m)
}

func timeOf(m resp.Message) (time.Time, error) {
	v := parse(m)
	if len(v.elems) != 2 {
		return time.Time{}, fmt.Errorf("not a time: %q", m)
	}
	sec, err1 := strconv.ParseInt(v.elems[0].text, 10, 64)
	usec, err2 := strconv.ParseInt(v.elems[1].text, 10, 64)
	return time.Unix(sec, usec*1000), errors.Join(err1, err2)
}
