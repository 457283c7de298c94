package external

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// labLink is what lies between one client and one node of the lab: a proxy.
type labLink struct {
	env    *labEnv
	client int
	node   string
	addr   string // where clients reach the proxy
	proxy  *toxiproxy.Proxy

	mu     sync.Mutex
	toxics map[string]int // how many faults want each
	conns  map[*labConn]bool
	resets *labResets // fault in force
}

// dial makes one connection through the gate. What the node does with it is learnt
// at the end, see order.
func (l *labLink) dial(ctx context.Context) (net.Conn, error) {
	c, err := l.env.gate.Dial(ctx, l.client, l.node, func(ctx context.Context, gc *testbed.Conn) (net.Conn, error) {
		raw, err := (&net.Dialer{}).DialContext(ctx, "tcp4", l.addr)
		if err != nil {
			return nil, testbed.Bare(err)
		}
		n := &labConn{
			TCPConn: raw.(*net.TCPConn), link: l, number: gc.Number(),
			name: l.env.nameOf(l.client, l.node, gc.Number()), unheard: 2,
		}
		l.env.nears.Add()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.conns[n] = true
		n.resets = l.resets
		return n, nil
	})
	if err != nil {
		return nil, err // not a nil *Conn
	}
	return c, nil
}

// sever gives up the connections that the proxy does not close.
func (l *labLink) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.end(net.ErrClosed) // nobody else may have
		_ = c.TCPConn.SetDeadline(time.Unix(0, 1))
		_ = c.TCPConn.Close()
	}
}

// labConn is a client's end of a connection. As a proxy cannot bear that somebody
// stops reading, it reads on after it was closed, until the proxy closes.
//
// In front of what the client says first goes an ECHO of the connection's name, by
// which it is known when the node tells what it executes; the client does not see
// the answer.
type labConn struct {
	*net.TCPConn
	link   *labLink
	resets *labResets // that new connections get; may be nil
	number int        // among those of its link
	name   string
	named  bool // whoever writes has it

	reading sync.Mutex
	unheard int  // lines of the answer to ECHO that are still to come; guarded by reading
	begun   bool // a part of them came; guarded by reading
	mu      sync.Mutex
	err     error // what reads and writes give once it is closed or reset
}

// Read implements net.Conn. Errors name no addresses: they go into histories.
func (c *labConn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for {
		if err := c.over(); err != nil {
			return 0, err
		}
		n, err := c.TCPConn.Read(p)
		if errors.Is(err, syscall.ECONNRESET) {
			c.resets.note(c)
		}
		if over := c.over(); over != nil {
			return 0, over
		}
		came := n > 0
		if n = c.strip(p[:n]); n > 0 || !came || err != nil {
			return n, testbed.Bare(err)
		}
	}
}

// strip takes the answer to ECHO off what came first: a length and the name, or
// one line with an error. It returns how much is left.
func (c *labConn) strip(p []byte) int {
	if c.unheard > 0 && len(p) > 0 && !c.begun {
		c.begun = true
		if p[0] == '-' {
			c.unheard = 1
		}
	}
	rest := p
	for c.unheard > 0 && len(rest) > 0 {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return 0
		}
		rest = rest[i+1:]
		c.unheard--
	}
	return copy(p, rest)
}

// Write implements net.Conn.
func (c *labConn) Write(p []byte) (int, error) {
	if err := c.over(); err != nil {
		return 0, err
	}
	var name []byte
	if !c.named {
		c.named = true
		name = encode("ECHO", c.name)
	}
	n, err := c.TCPConn.Write(slices.Concat(name, p))
	return max(0, n-len(name)), testbed.Bare(err)
}

func (c *labConn) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements net.Conn.
func (c *labConn) Close() error { c.end(net.ErrClosed); return nil }

// end makes reads and writes fail with err from now on, and says whether nothing
// else did before.
func (c *labConn) end(err error) bool {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
	}
	c.mu.Unlock()
	if !first {
		return false
	}
	_ = c.TCPConn.CloseWrite()
	_ = c.TCPConn.SetReadDeadline(time.Unix(0, 1)) // wakes the reader
	go func() {
		defer c.link.env.nears.Done()
		c.reading.Lock()
		_ = c.TCPConn.SetReadDeadline(time.Time{})
		c.reading.Unlock()
		_, _ = io.Copy(io.Discard, c.TCPConn)
		_ = c.TCPConn.Close()
		c.link.mu.Lock()
		defer c.link.mu.Unlock()
		delete(c.link.conns, c)
	}()
	return true
}

// labResets are the connections of a link that a fault has reset, disturbing or not.
type labResets struct {
	mu    sync.Mutex
	conns map[int]bool // by number
}

func (r *labResets) note(c *labConn) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c.number] = true
}

// among counts the connections that were reset with one of these commands on them.
func (r *labResets) among(commands []history.Command) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	hit := map[int]bool{}
	for _, c := range commands {
		if r.conns[c.Conn] {
			hit[c.Conn] = true
		}
	}
	return len(hit)
}

// forEver, in milliseconds, is longer than any trial.
const forEver = 24 * 60 * 60 * 1000

// Cut implements testbed.Network by timeout toxics. Its undo ends every connection
// of the link, whether it lost something or not.
func (e *labEnv) Cut(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.shut(l, d, "timeout", toxiproxy.Attributes{"timeout": 0})
}

// Hold implements testbed.Network by latency toxics. Link.Conn is not looked at:
// all connections of the link are held.
func (e *labEnv) Hold(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.shut(l, d, "latency", toxiproxy.Attributes{"latency": forEver})
}

// shut puts a toxic on a link, until undone. Hits counts the commands that were
// sent over it and not answered by then: which way they were lost is not seen.
func (e *labEnv) shut(on testbed.Link, d testbed.Direction, kind string, a toxiproxy.Attributes) (testbed.Undo, error) {
	streams := []testbed.Direction{d}
	switch d {
	case testbed.Both:
		streams = []testbed.Direction{testbed.Upstream, testbed.Downstream}
	case testbed.Upstream, testbed.Downstream:
	default:
		return nil, fmt.Errorf("direction %q: want %s, %s or %s", d, testbed.Upstream, testbed.Downstream, testbed.Both)
	}
	l, err := e.link(on)
	if err != nil {
		return nil, err
	}
	unanswered := e.unanswered(l)
	var undos []func() error
	heal := func() error {
		var errs []error
		for _, undo := range undos {
			errs = append(errs, undo())
		}
		return errors.Join(errs...)
	}
	for _, stream := range streams {
		undo, err := l.add(kind, stream, a)
		if err != nil {
			return nil, errors.Join(err, heal())
		}
		undos = append(undos, undo)
	}
	return once(func() (int, error) { hits := len(unanswered()); return hits, heal() }), nil
}

// Reset implements testbed.Network. Hits counts the connections on which a command was
// under way, or was sent after: an idle one that is replaced unseen disturbs nobody.
func (e *labEnv) Reset(_ context.Context, on testbed.Link) (testbed.Undo, error) {
	l, err := e.link(on)
	if err != nil {
		return nil, err
	}
	unanswered := e.unanswered(l)
	undo, err := l.add("reset_peer", testbed.Upstream, toxiproxy.Attributes{"timeout": 0})
	if err != nil {
		return nil, err
	}
	r := &labResets{conns: map[int]bool{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resets = r
	for c := range l.conns {
		if c.end(syscall.ECONNRESET) {
			r.note(c)
		}
	}
	return once(func() (int, error) {
		err := undo()
		l.mu.Lock()
		if l.resets == r {
			l.resets = nil
		}
		l.mu.Unlock()
		return r.among(unanswered()), err
	}), nil
}

// add puts a toxic on one direction, unless it is there already.
func (l *labLink) add(kind string, d testbed.Direction, a toxiproxy.Attributes) (undo func() error, err error) {
	name := kind + "_" + string(d)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.toxics[name] == 0 {
		if _, err := l.proxy.AddToxic(name, kind, string(d), 1, a); err != nil {
			return nil, fmt.Errorf("%s on the link from c%d to %s: %w", kind, l.client, l.node, err)
		}
	}
	l.toxics[name]++
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.toxics[name]--; l.toxics[name] > 0 {
			return nil
		}
		if err := l.proxy.RemoveToxic(name); err != nil {
			return fmt.Errorf("remove %s from the link from c%d to %s: %w", kind, l.client, l.node, err)
		}
		return nil
	}, nil
}

// link finds a client's link.
func (e *labEnv) link(on testbed.Link) (*labLink, error) {
	i := slices.IndexFunc(e.links, func(l *labLink) bool { return fmt.Sprintf("c%d", l.client) == on.From && l.node == on.To })
	if i < 0 {
		return nil, fmt.Errorf("no link from %s to %s", on.From, on.To)
	}
	return e.links[i], nil
}

// unanswered begins to watch for commands on a link that get no answer.
func (e *labEnv) unanswered(l *labLink) (find func() []history.Command) {
	early := map[int]bool{}
	from := e.gate.Next()
	for _, c := range e.gate.Outstanding() {
		early[c.Index] = true
	}
	return func() []history.Command {
		open := e.gate.Outstanding()
		e.mu.Lock()
		defer e.mu.Unlock()
		last := map[int]history.Command{} // what is known of each last
		for _, c := range slices.Concat(open, e.ended) {
			if c.Client == l.client && c.Node == l.node && (c.Index >= from || early[c.Index]) {
				last[c.Index] = c
			}
		}
		return slices.DeleteFunc(slices.Collect(maps.Values(last)), func(c history.Command) bool { return c.Replied > 0 })
	}
}

// once makes an undo of end, which is called only the first time.
func once(end func() (int, error)) testbed.Undo {
	var mu sync.Mutex
	var done bool
	var hits int
	return func(context.Context) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return hits, nil
		}
		done = true
		var err error
		hits, err = end()
		return hits, err
	}
}
