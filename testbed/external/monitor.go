package external

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// told is one line of MONITOR: a command, told in the order of execution.
type told struct {
	at    time.Duration // by the node's wall clock, since 1970
	from  string        // the client's address as the node sees it
	args  []history.Bytes
	heard time.Duration // on the history's clock; 0 if nobody listened
}

// fromScript stands in place of the address for what a script calls.
const fromScript = "lua"

// readTold reads a line like
//
//	+1339518083.107412 [0 127.0.0.1:60866] "set" "k" "a\x00b"
func readTold(line string) (t told, err error) {
	bad := func() (told, error) { return told{}, fmt.Errorf("no line of MONITOR: %.80q", line) }
	rest := strings.TrimPrefix(strings.TrimRight(line, "\r\n"), "+")
	stamp, rest, ok := strings.Cut(rest, " [")
	if !ok {
		return bad()
	}
	origin, rest, ok := strings.Cut(rest, "] ")
	if !ok {
		return bad()
	}
	seconds, micros, ok := strings.Cut(stamp, ".")
	s, err1 := strconv.ParseInt(seconds, 10, 64)
	us, err2 := strconv.ParseInt(micros, 10, 64)
	if !ok || err1 != nil || err2 != nil || len(micros) != 6 {
		return bad()
	}
	t.at = time.Duration(s)*time.Second + time.Duration(us)*time.Microsecond
	if _, t.from, ok = strings.Cut(origin, " "); !ok {
		return bad()
	}
	for rest != "" {
		arg, after, ok := unquote(rest)
		if !ok {
			return bad()
		}
		t.args = append(t.args, arg)
		rest = strings.TrimPrefix(after, " ")
	}
	if len(t.args) == 0 {
		return bad()
	}
	return t, nil
}

// escapes of a character after a backslash, as Redis's sdscatrepr writes them.
var escapes = map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', 'a': '\a', 'b': '\b', '\\': '\\', '"': '"'}

// names is the name that a connection was given by an ECHO, if it begins with mark.
func (t told) names(mark string) string {
	if len(t.args) == 2 && strings.EqualFold(string(t.args[0]), "ECHO") && strings.HasPrefix(string(t.args[1]), mark) {
		return string(t.args[1])
	}
	return ""
}

// unquote reads the quoted string at the beginning of s.
func unquote(s string) (arg history.Bytes, rest string, ok bool) {
	if s[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			return history.Bytes(b.String()), s[i+1:], true
		case '\\':
			i++
			switch {
			case i < len(s) && escapes[s[i]] != 0:
				b.WriteByte(escapes[s[i]])
			case i+2 < len(s) && s[i] == 'x':
				code, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
				if err != nil {
					return "", "", false
				}
				b.WriteByte(byte(code))
				i += 2
			default:
				return "", "", false
			}
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// listener hears from a node, past toxiproxy, what it executes.
type listener struct {
	node  labNode
	clock func() time.Duration
	mark  string // how the names of the trial's connections begin
	since int64  // the newest connection's id when it began: clients' are newer
	conn  net.Conn
	done  chan struct{} // closed when it hears no more; then these are there:
	all   []told
	err   error // why it has not heard everything

	mu    sync.Mutex
	hosts map[string]bool // from where connections of clients came
}

// last is what is said to the node after everything else.
func (l *listener) last() string { return l.mark + "end" }

// listen asks a node to tell what it executes from now on, before clients connect to it.
// Ctx bounds the asking.
func listen(ctx context.Context, n labNode, clock func() time.Duration, mark string) (*listener, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, lines, err := testbed.Monitor(ctx, n.straight)
	if err != nil {
		return nil, fmt.Errorf("monitor %s: %w", n.upstream, testbed.Bare(err))
	}
	l := &listener{node: n, clock: clock, mark: mark, conn: conn, done: make(chan struct{}), hosts: map[string]bool{}}
	err = n.ask(ctx, func(c *redis.Client) (err error) {
		l.since, err = c.ClientID(ctx).Result()
		return err
	})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("newest connection of %s: %w", n.upstream, testbed.Bare(err))
	}
	go l.hear(lines)
	return l, nil
}

// hear reads lines until the last one.
func (l *listener) hear(lines *bufio.Reader) {
	defer close(l.done)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			l.err = fmt.Errorf("%s stopped to tell what it executes: %w", l.node.upstream, testbed.Bare(err))
			return
		}
		t, err := readTold(line)
		if err != nil {
			l.err = fmt.Errorf("%s: %w", l.node.upstream, err)
			return
		}
		switch name := t.names(l.mark); {
		case name == l.last():
			return
		case name != "":
			host, _, _ := net.SplitHostPort(t.from)
			l.mu.Lock()
			l.hosts[host] = true
			l.mu.Unlock()
		}
		t.heard = l.clock()
		l.all = append(l.all, t)
	}
}

// stop ends listening. It may be called again.
func (l *listener) stop() {
	l.conn.Close()
	<-l.done
}

// finish waits until the node has executed all that came to it from the proxies
// of clients, which are gone by now, and returns what it told.
func (l *listener) finish(ctx context.Context) ([]told, error) {
	defer l.stop()
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	err := l.node.ask(ctx, func(c *redis.Client) error {
		if err := l.deserted(ctx, c); err != nil {
			return err
		}
		return c.Echo(ctx, l.last()).Err()
	})
	if err != nil {
		return nil, fmt.Errorf("whether %s executed all is not known: %w", l.node.upstream, testbed.Bare(err))
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		l.stop()
		l.err = errors.Join(ctx.Err(), l.err)
	}
	return l.all, l.err
}

// deserted waits until the node has no connections any more from where those of
// clients came: what is on its way over a connection is read before its end is.
func (l *listener) deserted(ctx context.Context, c *redis.Client) error {
	me, err := c.ClientID(ctx).Result()
	if err != nil {
		return err
	}
	for {
		list, err := c.ClientList(ctx).Result()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(strings.Split(list, "\n"), func(one string) bool { return l.isClient(one, me) }) {
			return nil
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sentinels is how the names begin that Sentinels give to their connections.
const sentinels = "sentinel-"

// isClient says whether a line of CLIENT LIST is about a connection that may be a
// client's: it came from where theirs do, after listening began (ids only grow, and a
// node that restarts, which begins anew, stops telling), and is not ours, a replica's, a
// primary's or a Sentinel's. Theirs come over toxiproxy, too, and stay.
func (l *listener) isClient(line string, me int64) bool {
	about := map[string]string{}
	for field := range strings.FieldsSeq(line) {
		key, value, _ := strings.Cut(field, "=")
		about[key] = value
	}
	id, _ := strconv.ParseInt(about["id"], 10, 64)
	if id <= l.since || id == me || strings.HasPrefix(about["name"], sentinels) || strings.ContainsAny(about["flags"], "OSM") {
		return false
	}
	host, _, _ := net.SplitHostPort(about["addr"])
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hosts[host]
}
