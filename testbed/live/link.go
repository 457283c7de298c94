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
	client   int // the client's number, or everyone
	gate     *gate.Gate
	proxy    *proxy
	listener net.Listener   // makes connections of this program with itself; its address is the link's
	serving  sync.WaitGroup // waits for the pairs

	mu     sync.Mutex // also held while a connection is made, so that a change hits all connections or none
	target *node
	names  []string           // names of all nodes that the link ever led to
	pairs  []*pair            // in the order of dialling
	nears  map[known]*nearEnd // the near ends of all connections so far
	closed bool

	watching sync.Mutex // held while watchers are called
	watchers []func(up bool)
}

// clientName returns the name of a client as an end of links.
func clientName(id int) string { return fmt.Sprintf("c%d", id) }

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
	from := clientName(client)
	if client == everyone {
		from = "clients"
	}
	l, err := net.Listen("tcp4", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("link from %s to %s: %w", from, target.name, err)
	}
	return &link{
		client: client, gate: gate, proxy: p.open(from, target.name), listener: l,
		target: target, names: []string{target.name}, nears: map[known]*nearEnd{},
	}, nil
}

// addr returns the address that stands for the link. Only the link itself connects to it.
func (l *link) addr() string { return l.listener.Addr().String() }

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

// connect makes both halves of a connection below the gate: from client to proxy, and from proxy to
// tap. The parameter by is the connection's identity in the history's commands.
func (l *link) connect(ctx context.Context, gc *gate.Conn, by known) (net.Conn, error) {
	gc.Observe()
	c, err := l.establish(gc, by)
	if errors.Is(err, errDown) {
		return nil, refuse(ctx)
	}
	return c, err
}

// errDown is the error for a connection to a node that is down.
var errDown = errors.New("the node is down")

func (l *link) establish(gc *gate.Conn, by known) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	if _, err := l.target.running(); err != nil {
		return nil, errDown
	}
	near, outer, err := l.ends()
	if err != nil {
		return nil, l.broken(err)
	}
	inner, far, err := l.ends()
	if err != nil {
		near.Close()
		outer.Close()
		return nil, l.broken(err)
	}
	number, err := l.proxy.join(outer, inner)
	if err != nil {
		near.Close()
		far.Close()
		return nil, err
	}
	return l.pair(gc, by, near, far, number), nil
}

// ends makes a connection of this program with itself and returns its two ends.
func (l *link) ends() (one, other *net.TCPConn, err error) {
	c, err := net.Dial("tcp4", l.addr())
	if err != nil {
		return nil, nil, err
	}
	for {
		back, err := l.listener.Accept()
		switch {
		case err != nil:
			c.Close()
			return nil, nil, err
		case back.RemoteAddr().String() == c.LocalAddr().String():
			return c.(*net.TCPConn), back.(*net.TCPConn), nil
		}
		back.Close() // a stranger's
	}
}

// broken ends the trial, and returns the error for the client's dial: that this machine lacks file
// descriptors must not pass for a fault of the network.
func (l *link) broken(err error) error {
	l.target.died(fmt.Errorf("link %v takes no connections any more: %w", l.proxy, err))
	return testbed.BareError(err)
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

// pair starts serving a new connection, which has that number for the proxy. The caller holds l.mu.
func (l *link) pair(gc *gate.Conn, by known, near, far *net.TCPConn, number int) net.Conn {
	p := &pair{gate: gc, client: by.client, far: far, node: l.target, broken: make(chan struct{}), blocked: map[int]*effect{}}
	p.near = &nearEnd{TCPConn: near, number: number, proxy: l.proxy}
	l.pairs = append(l.pairs, p)
	l.nears[by] = p.near
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
func (l *link) retarget(to *node) {
	l.mu.Lock()
	if l.target == to {
		l.mu.Unlock()
		return
	}
	l.target = to
	l.names = append(l.names, to.name)
	pairs := slices.Clone(l.pairs)
	l.mu.Unlock()
	for _, p := range pairs {
		p.cut()
	}
	l.tell()
}

// number returns a connection's number for the proxy; 0 if the link has no such connection.
func (l *link) number(by known) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if near := l.nears[by]; near != nil {
		return near.number
	}
	return 0
}

// resetAll resets all connections, and until undone also those that are made later.
func (l *link) resetAll() (undo func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	undo = l.proxy.impose(testbed.Upstream, always(reset))
	for _, p := range l.pairs {
		p.near.reset()
	}
	return undo
}

// resets counts how many of the connections were reset.
func (l *link) resets(conns map[known]bool) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for by := range conns {
		if near := l.nears[by]; near != nil && near.ended() == syscall.ECONNRESET {
			n++
		}
	}
	return n
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

// close closes the link's connections. The caller has closed the proxy.
func (l *link) close() error {
	l.mu.Lock()
	l.closed = true
	pairs := slices.Clone(l.pairs)
	l.mu.Unlock()
	err := l.listener.Close()
	for _, p := range pairs {
		p.far.Close()
		p.cut()
	}
	l.serving.Wait()
	return err
}
