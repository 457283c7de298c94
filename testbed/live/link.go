package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/gate"
)

// link connects one client, or all clients that share it, to one node: a proxy, and behind the
// proxy a tap in front of the node. A promotion changes the node.
type link struct {
	client int // the client's number, or everyone
	gate   *gate.Gate
	proxy  *proxy
	tap    net.Listener

	// dialling is a lock. It is held while one connection is made, so that the connection that the
	// proxy makes to the tap can be matched to the client's.
	dialling chan struct{}
	accepted chan net.Conn // connections from the proxy
	closed   chan struct{}
	serving  sync.WaitGroup // waits for the accept loop and the pairs
	draining tally          // near ends that the proxy has not closed yet

	mu     sync.Mutex
	target *node
	names  []string      // names of all nodes that the link ever led to
	pairs  []*pair       // in the order of dialling
	made   int           // connections so far
	places map[known]int // position of each connection in the order of dialling, from 1
	resets *resets       // the connections that the reset in force has hit; nil if no reset is in force

	watching sync.Mutex // held while watchers are called
	watchers []func(up bool)
}

// loopback is the address of clients and taps.
const loopback = "127.0.0.1"

// everyone is the client of a link that all clients share.
const everyone = -1

// known identifies a connection by three fields of its commands in the history.
type known struct {
	client int
	node   string
	conn   int
}

// newLink opens a link from a client, or everyone, to a node.
func newLink(p *proxies, gate *gate.Gate, client int, target *node) (*link, error) {
	l, err := unattended(p, gate, client, target)
	if err == nil {
		l.serving.Go(l.accept)
	}
	return l, err
}

// unattended returns a link that does not yet accept the connections of its proxy.
func unattended(p *proxies, gate *gate.Gate, client int, target *node) (*link, error) {
	from := fmt.Sprintf("c%d", client)
	if client == everyone {
		from = "clients"
	}
	tap, err := net.Listen("tcp4", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("link from %s to %s: %w", from, target.name, err)
	}
	l := &link{
		client: client, gate: gate, tap: tap, target: target, names: []string{target.name},
		places:   map[known]int{},
		dialling: make(chan struct{}, 1), accepted: make(chan net.Conn), closed: make(chan struct{}),
	}
	if l.proxy, err = p.open(from+"-"+target.name, loopback, tap.Addr().String()); err != nil {
		tap.Close()
		return nil, err
	}
	return l, nil
}

func (l *link) accept() {
	for {
		c, err := testbed.Accept(l.tap)
		if err != nil {
			return
		}
		select {
		case l.accepted <- c:
		case <-l.closed:
			c.Close()
			return
		}
	}
}

// refusal is how long a dial to a node that is down takes to fail. Without this delay, code that
// retries at once would use up the machine.
const refusal = time.Millisecond

// dial makes one connection of a client through the gate.
func (l *link) dial(ctx context.Context, client int) (net.Conn, error) {
	l.mu.Lock()
	name := l.target.name
	l.mu.Unlock()
	c, err := l.gate.Dial(ctx, client, name, func(ctx context.Context, gc *gate.Conn) (net.Conn, error) {
		return l.connect(ctx, gc, known{client, name, gc.Number()})
	})
	if err != nil {
		return nil, err // a nil interface, not a nil *Conn
	}
	return c, nil
}

// connect makes both halves of a connection below the gate: from client to proxy, and from tap to
// node. The parameter by is the connection's identity in the history's commands.
func (l *link) connect(ctx context.Context, gc *gate.Conn, by known) (net.Conn, error) {
	if err := l.take(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	target := l.target
	l.mu.Unlock()
	if _, err := target.running(); err != nil {
		defer l.release()
		return nil, refuse(ctx)
	}
	// Do not use ctx: an abandoned dial may have reached the proxy. The proxy's connection would
	// then be matched to the next client.
	near, err := net.Dial("tcp4", l.proxy.Listen)
	if err != nil {
		l.release()
		return nil, testbed.BareError(err)
	}
	select {
	case far := <-l.accepted:
		defer l.release()
		return l.pair(gc, by, near.(*net.TCPConn), far, target), nil
	case <-l.proxy.refused:
		err = &net.OpError{Op: "dial", Net: "tcp", Err: errRefused}
	case <-ctx.Done():
		go l.forget(near)
		return nil, ctx.Err()
	case <-l.closed:
		err = net.ErrClosed
	}
	near.Close()
	l.release()
	return nil, err
}

// errRefused is the error of a client's dial if its proxy could not reach the tap.
var errRefused = errors.New("the link's proxy could not connect to its other side")

// take waits until no connection is being made, and blocks new ones until release.
func (l *link) take(ctx context.Context) error {
	select {
	case l.dialling <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.closed:
		return net.ErrClosed
	}
}

func (l *link) release() { <-l.dialling }

// forget closes an abandoned connection and releases the link. It first waits for the proxy's
// connection, which would otherwise be matched to the next client.
func (l *link) forget(near net.Conn) {
	defer l.release()
	defer near.Close()
	select {
	case far := <-l.accepted:
		far.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.made++ // the toxics have counted this connection, too
	case <-l.proxy.refused:
	case <-l.closed:
	}
}

func refuse(ctx context.Context) error {
	t := time.NewTimer(refusal)
	defer t.Stop()
	select {
	case <-t.C:
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pair starts serving a new connection. The caller holds l.dialling.
func (l *link) pair(gc *gate.Conn, by known, near *net.TCPConn, far net.Conn, target *node) net.Conn {
	p := &pair{gate: gc, client: by.client, far: far.(*net.TCPConn), node: target, broken: make(chan struct{}), blocked: map[int]*effect{}}
	p.near = &nearEnd{TCPConn: near, by: by, gone: l.draining.Done}
	l.draining.Add()
	gc.Observe()
	l.mu.Lock()
	l.pairs = append(l.pairs, p)
	l.made++
	l.places[by] = l.made
	p.near.resets = l.resets
	l.mu.Unlock()
	l.serving.Go(func() {
		p.serve()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pairs = slices.DeleteFunc(l.pairs, func(other *pair) bool { return other == p })
	})
	return p.near
}

// retarget connects the link to another node and closes the connections to the old node. It does
// nothing if the link leads to that node already.
func (l *link) retarget(ctx context.Context, to *node) error {
	if err := l.take(ctx); err != nil {
		return fmt.Errorf("lead %s to %s: %w", l.proxy.Name, to.name, err)
	}
	defer l.release()
	l.mu.Lock()
	if l.target == to {
		l.mu.Unlock()
		return nil
	}
	l.target = to
	l.names = append(l.names, to.name)
	pairs := slices.Clone(l.pairs)
	l.mu.Unlock()
	for _, p := range pairs {
		p.cut()
	}
	l.tell()
	return nil
}

// number returns a connection's position on the link in the order of dialling, from 1; 0 if the
// link has no such connection.
func (l *link) number(by known) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.places[by]
}

// leadsTo reports whether the link now leads to the node of that name.
func (l *link) leadsTo(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.target.name == name
}

// carries reports whether commands of that client to that node go, or went, over this link.
func (l *link) carries(client int, node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (l.client == client || l.client == everyone) && slices.Contains(l.names, node)
}

// drained returns a channel that is closed once the proxy has closed all connections of
// clients.
func (l *link) drained() <-chan struct{} { return l.draining.None() }

// tally is a counter that may rise from 0 while a goroutine waits for 0, which a WaitGroup
// does not allow.
type tally struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n becomes 0; nil if nobody waits
}

// Add increments the count.
func (t *tally) Add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
}

// Done decrements the count.
func (t *tally) Done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.zero != nil {
		close(t.zero)
		t.zero = nil
	}
}

// None returns a channel that is closed once the count is 0.
func (t *tally) None() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.zero == nil {
		t.zero = make(chan struct{})
	}
	zero := t.zero
	if t.n == 0 {
		close(t.zero)
		t.zero = nil
	}
	return zero
}

// close closes the tap and its connections. The caller has closed the proxy.
func (l *link) close() error {
	close(l.closed)
	err := l.tap.Close()
	l.mu.Lock()
	pairs := slices.Clone(l.pairs)
	l.mu.Unlock()
	for _, p := range pairs {
		p.far.Close()
		p.cut()
	}
	l.serving.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
