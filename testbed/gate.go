package testbed

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// Gate stands at the clients' ends of all connections of one trial: it reads
// the commands and replies that pass, numbers and logs them, and holds a client
// at exact places of its protocol. It knows nothing of where connections come
// from. It uses the standard time package, mutexes that are held for a moment
// only, and channels for all that lasts, so that it works in a testing/synctest
// bubble as well.
type Gate struct {
	clock    func() time.Duration
	commands func(history.Command)
	done     chan struct{} // closed by Close
	pumps    sync.WaitGroup

	mu      sync.Mutex
	clients []*gateClient
	armed   []*armed
	index   int             // of the next command
	open    map[int]*record // commands that were sent and not yet passed to commands
	ended   []*record       // to be passed to commands once mu is released, in order
	closed  bool
	flushed bool

	passing sync.Mutex // serialises calls of commands; locked before mu
}

// GateOptions of a new gate.
type GateOptions struct {
	Clients int
	// Clock is the history's clock. It is called with the gate's lock held.
	Clock func() time.Duration
	// Commands receives every command once it is known how it ended. Calls
	// never overlap.
	Commands func(history.Command)
}

// NewGate returns a gate through which nothing has passed yet.
func NewGate(o GateOptions) *Gate {
	g := &Gate{clock: o.Clock, commands: o.Commands, done: make(chan struct{}), open: map[int]*record{}}
	for id := range o.Clients {
		g.clients = append(g.clients, &gateClient{
			id: id, op: -1, wake: make(chan struct{}),
			counts: map[string]int{}, dialled: map[string]int{},
			pauses: map[*pause]bool{},
		})
	}
	return g
}

// gateClient is what the gate knows of a client process. Gate.mu guards it.
type gateClient struct {
	id       int
	phase    string
	op       int
	counts   map[string]int // commands of this phase by node
	dialled  map[string]int // connections by node
	conns    []*Conn        // whose inner connection is not closed yet, in the order of dialling
	pauses   map[*pause]bool
	pausedAt time.Time // when the first of pauses began
	crashed  bool
	wake     chan struct{} // closed and replaced when any of the above changes
}

func (cl *gateClient) changed() {
	close(cl.wake)
	cl.wake = make(chan struct{})
}

func (g *Gate) client(i int) (*gateClient, error) {
	if i < 0 || i >= len(g.clients) {
		return nil, fmt.Errorf("no client %d: there are %d", i, len(g.clients))
	}
	return g.clients[i], nil
}

// Step is Client.Step. A paused client does not reach the step before it is
// resumed; what a point at the step's beginning does to the client takes effect
// before Step returns.
func (g *Gate) Step(ctx context.Context, client int, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	cl, err := g.client(client)
	if err != nil {
		return err
	}
	if err := g.proceed(ctx, cl); err != nil {
		return err
	}
	cl.phase = name
	clear(cl.counts)
	g.reach(history.Command{Client: client, Phase: name, Op: cl.op, Index: -1}, "")
	return g.proceed(ctx, cl)
}

// proceed waits while the client is paused. mu is held on entry and return.
func (g *Gate) proceed(ctx context.Context, cl *gateClient) error {
	g.pass(cl, ctx.Done())
	switch {
	case cl.crashed:
		return ErrCrashed
	case g.closed:
		return net.ErrClosed
	}
	return ctx.Err()
}

// Open is Client.Open.
func (g *Gate) Open(client, op int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cl, err := g.client(client); err == nil {
		cl.op = op
	}
}

// Dial makes a connection of a client to a node by way of dial and wraps it.
// The Conn that dial gets is the one that Dial returns: the node's side stamps
// on it what it sees. Its other methods may be used only after Dial has
// returned. A paused client's Dial waits, a crashed one's ends with ctx.
func (g *Gate) Dial(ctx context.Context, client int, node string,
	dial func(context.Context, *Conn) (net.Conn, error)) (*Conn, error) {
	g.mu.Lock()
	cl, err := g.client(client)
	if err == nil {
		err = g.mayDial(ctx, cl)
	}
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c := newConn(g, cl, node)
	inner, err := dial(ctx, c)
	if err != nil {
		return nil, err
	}

	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		inner.Close()
		return nil, net.ErrClosed
	}
	c.inner = inner
	cl.dialled[node]++
	c.number = cl.dialled[node]
	cl.conns = append(cl.conns, c)
	g.pumps.Go(c.pump)
	err = g.mayDial(ctx, cl)
	g.mu.Unlock()
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// mayDial waits while the client is paused, and once it crashed until ctx is
// done. mu is held on entry and return.
func (g *Gate) mayDial(ctx context.Context, cl *gateClient) error {
	g.pass(cl, nil)
	if cl.crashed && !g.closed {
		g.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-g.done:
		}
		g.mu.Lock()
	}
	if g.closed {
		return net.ErrClosed
	}
	return ctx.Err()
}

// pass waits while the client is paused, unless stop is closed. Every pause
// counts the wait once. mu is held on entry and return.
func (g *Gate) pass(cl *gateClient, stop <-chan struct{}) {
	var counted map[*pause]bool
	for len(cl.pauses) > 0 && !g.closed {
		if counted == nil {
			counted = map[*pause]bool{}
		}
		for p := range cl.pauses {
			if !counted[p] {
				counted[p] = true
				p.hits++
			}
		}
		wake := cl.wake
		g.mu.Unlock()
		select {
		case <-wake:
			g.mu.Lock()
		case <-stop:
			g.mu.Lock()
			return
		}
	}
}

// Close withdraws all points, ends what waits at the gate with an error, closes
// all connections, and returns when their goroutines have ended.
func (g *Gate) Close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.done)
	}
	g.armed = nil
	var inner []net.Conn
	for _, cl := range g.clients {
		cl.changed()
		for _, c := range cl.conns {
			inner = append(inner, c.inner)
		}
	}
	g.mu.Unlock()
	for _, c := range inner {
		c.Close()
	}
	g.pumps.Wait()
}

// Flush passes on all commands of which more might have been learnt, in the
// order of their index, and returns when all have been passed on. Later calls
// of anything add nothing. Call it after Close, when the nodes' side has ended.
func (g *Gate) Flush() {
	g.mu.Lock()
	for _, r := range g.open {
		g.ended = append(g.ended, r)
	}
	clear(g.open)
	slices.SortFunc(g.ended, func(a, b *record) int { return cmp.Compare(a.Index, b.Index) })
	g.mu.Unlock()
	g.passOn()
	g.mu.Lock()
	g.flushed = true
	g.mu.Unlock()
}
