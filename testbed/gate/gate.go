package gate

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Gate stands at the clients' ends of all connections of one trial: it reads
// the commands and replies that pass, numbers and logs them, and holds a client
// at exact places of its protocol. It knows nothing of where connections come
// from. It uses the standard time package, mutexes that are held for a moment
// only, and channels for all that lasts, so that it works in a testing/synctest
// bubble as well.
type Gate struct {
	clock     func() time.Duration
	commands  func(history.Command)
	ordered   bool
	processes testbed.Processes
	stagger   func(client int, node string, conn int) time.Duration
	done      chan struct{} // closed by Close
	pumps     sync.WaitGroup

	mu      sync.Mutex
	clients []*gateClient
	armed   []*armed
	index   int       // of the next command
	fresh   []*record // commands that were sent and have no index yet
	open    records   // commands that were sent and are not settled
	ended   []*record // to be passed to commands once mu is released, in order
	unused  []record  // to be used for commands to come
	closed  bool
	flushed bool

	passing sync.Mutex // serialises calls of commands; locked before mu
	passed  []*record  // room for ended's next elements; passing guards it
}

// Options of a new gate.
type Options struct {
	Clients int
	// Clock is the history's clock. It is called with the gate's lock held.
	Clock func() time.Duration
	// Commands receives every command once it is known how it ended. Calls
	// never overlap.
	Commands func(history.Command)
	// Ordered lets only Number give commands their indices, so that these do not depend on
	// which of several goroutines came first at one instant. Only Number and Flush then
	// call Commands, for all commands that have ended since, sorted by index. In a Hit, a
	// command without a number has the index -1.
	Ordered bool
	// Processes of the clients; nil = they run in this one.
	Processes testbed.Processes
	// Stagger spreads out goroutines that would go on at the gate at one instant, in an
	// order that is luck: those that waited for their client to be resumed or, when the
	// gate was closed, for anything, and those that reach a point, before and after its
	// function. Each of them first sleeps what Stagger returns for its client, node and
	// connection; node is "" and conn 0 for a step. Values must be positive and more than
	// 3 ns apart: the goroutines of one connection go on one nanosecond after the other.
	// Nil = nobody sleeps.
	Stagger func(client int, node string, conn int) time.Duration
}

// New returns a gate through which nothing has passed yet.
func New(o Options) *Gate {
	g := &Gate{
		clock: o.Clock, commands: o.Commands, ordered: o.Ordered, processes: o.Processes, stagger: o.Stagger,
		done: make(chan struct{}),
	}
	for id := range o.Clients {
		g.clients = append(g.clients, &gateClient{id: id, op: -1, ways: map[string]*way{}})
	}
	return g
}

// gateClient is what the gate knows of a client process. Gate.mu guards it.
type gateClient struct {
	id       int
	phase    string
	op       int
	ways     map[string]*way // by node
	conns    []*Conn         // whose inner connection is not closed yet, by node and number
	pauses   []*pause
	pausedAt time.Time // when the first of pauses began
	crashed  bool
	wake     chan struct{} // closed when any of the above changes; nil if nobody waits
}

// way counts a client's dials and commands at one node.
type way struct {
	dials    int
	commands int // of the present step
}

func (cl *gateClient) way(node string) *way {
	if cl.ways[node] == nil {
		cl.ways[node] = new(way)
	}
	return cl.ways[node]
}

func (cl *gateClient) changed() {
	broadcast(&cl.wake)
	for _, c := range cl.conns {
		c.signal()
	}
}

// broadcast wakes those who wait for a channel that await has returned.
func broadcast(wake *chan struct{}) {
	if *wake != nil {
		close(*wake)
		*wake = nil
	}
}

// await returns a channel that the next broadcast closes.
func await(wake *chan struct{}) <-chan struct{} {
	if *wake == nil {
		*wake = make(chan struct{})
	}
	return *wake
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
	for _, w := range cl.ways {
		w.commands = 0
	}
	g.reach(&history.Command{Client: client, Phase: name, Op: cl.op, Index: -1}, "", waiter{client: cl})
	return g.proceed(ctx, cl)
}

// proceed waits while the client is paused. mu is held on entry and return.
func (g *Gate) proceed(ctx context.Context, cl *gateClient) error {
	g.pass(waiter{client: cl}, ctx.Done())
	switch {
	case cl.crashed:
		return testbed.ErrCrashed
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

// Dial makes a connection of a client to a node by way of dial and wraps it. It
// gets its number before dial is called, so a dial that fails uses one up. The
// Conn that dial gets is the one that Dial returns: the node's side stamps on it
// what it sees. Of its other methods only Number may be used before Dial has
// returned. A paused client's Dial waits, a crashed one's ends with ctx.
func (g *Gate) Dial(ctx context.Context, client int, node string,
	dial func(context.Context, *Conn) (net.Conn, error)) (*Conn, error) {
	return g.dial(ctx, client, node, false, dial)
}

// DialAside is Dial for a library's own requests to a Sentinel, which is not a node: the
// connection is frozen and dies with its client, but the commands on it are neither
// counted nor logged.
func (g *Gate) DialAside(ctx context.Context, client int, whom string,
	dial func(context.Context) (net.Conn, error)) (*Conn, error) {
	return g.dial(ctx, client, whom, true, func(ctx context.Context, _ *Conn) (net.Conn, error) { return dial(ctx) })
}

func (g *Gate) dial(ctx context.Context, client int, node string, aside bool,
	dial func(context.Context, *Conn) (net.Conn, error)) (*Conn, error) {
	g.mu.Lock()
	cl, err := g.client(client)
	if err != nil {
		g.mu.Unlock()
		return nil, err
	}
	c := newConn(g, cl, node)
	c.aside = aside
	err = c.mayDial(ctx)
	g.mu.Unlock()
	if err != nil {
		return nil, err
	}
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
	at, _ := slices.BinarySearchFunc(cl.conns, c, (*Conn).compare)
	cl.conns = slices.Insert(cl.conns, at, c)
	pusher, pushes := inner.(Pusher)
	if !pushes {
		g.pumps.Go(c.pump)
	}
	g.mu.Unlock()
	if pushes {
		pusher.OnMessage(c.deliver)
	}
	g.mu.Lock()
	err = c.mayDial(ctx)
	g.mu.Unlock()
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// mayDial waits while the client is paused. A crashed client waits until ctx is done,
// unless it has a process. mu is held on entry and return.
func (c *Conn) mayDial(ctx context.Context) error {
	g := c.gate
	g.pass(waiter{c.client, c, writing}, nil)
	if c.client.crashed && g.outside() {
		return net.ErrClosed
	}
	if c.client.crashed && !g.closed {
		g.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-g.done:
		}
		g.mu.Lock()
		if g.closed {
			g.asleep(waiter{c.client, c, writing})
		}
	}
	if g.closed {
		return net.ErrClosed
	}
	return ctx.Err()
}

// waiter is who waits at the gate: a step of the client or, on one of its
// connections, one of three roles.
type waiter struct {
	client *gateClient
	conn   *Conn // nil for a step
	role   role
}

// role of a goroutine on its connection. Of those that may go on at one instant
// the lower goes first: a reply that is there is let through before its reader
// finds that the deadline has passed.
type role int

const (
	receiving role = iota
	writing
	reading
)

// asleep lets the waiter sleep its own time, so that it goes on alone. The end of its
// connection ends the sleep: whoever closed the connection may spin until the waiter
// returns, and a virtual clock stands still meanwhile. mu is held on entry and return.
func (g *Gate) asleep(w waiter) {
	d := g.staggered(w)
	if d <= 0 {
		return
	}
	g.mu.Unlock()
	defer g.mu.Lock()
	if w.conn == nil {
		time.Sleep(d)
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.conn.ended:
	}
}

// staggered is how long the waiter sleeps so that it goes on alone.
func (g *Gate) staggered(w waiter) time.Duration {
	switch {
	case g.stagger == nil:
		return 0
	case w.conn == nil:
		return g.stagger(w.client.id, "", 0)
	}
	return g.stagger(w.client.id, w.conn.node, w.conn.number) + time.Duration(w.role)
}

// pass waits while the client is paused, unless stop is closed. Every pause
// counts the wait once. mu is held on entry and return.
func (g *Gate) pass(w waiter, stop <-chan struct{}) {
	var counted []*pause
	cl := w.client
	for len(cl.pauses) > 0 && !g.closed {
		for _, p := range cl.pauses {
			if !slices.Contains(counted, p) {
				counted = append(counted, p)
				p.hits++
			}
		}
		wake := await(&cl.wake)
		g.mu.Unlock()
		select {
		case <-wake:
		case <-stop:
		}
		g.mu.Lock()
		select {
		case <-stop:
			return
		default:
		}
		if len(cl.pauses) == 0 || g.closed {
			g.asleep(w)
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
