package gate

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// Gate observes and controls the clients' ends of all connections of one trial: it numbers
// and logs commands and replies, and pauses clients at exact points of their protocol. It
// works on any net.Conn. A Gate can also run in a testing/synctest bubble: it uses the
// standard time package, holds mutexes only briefly, and waits on channels.
type Gate struct {
	clock    func() time.Duration
	commands func(history.Command)
	ordered  bool
	stagger  func(client int, node string, conn int) time.Duration
	done     chan struct{} // closed by Close
	pumps    sync.WaitGroup

	mu      sync.Mutex
	clients []*gateClient
	armed   []*armed
	index   int                 // the next command's index
	fresh   []*record           // commands that were sent and have no index yet
	open    resp.Queue[*record] // by index: commands that were sent and whose outcome is still open
	ended   []*record           // commands with a final outcome; passOn passes them to the function commands
	unused  []record            // allocated for future commands
	closed  bool
	flushed bool

	passing sync.Mutex // serialises calls of commands; locked before mu
	passed  []*record  // memory to reuse for ended; guarded by passing
}

// Options are the options of New.
type Options struct {
	Clients int
	// Clock is the history's clock. It is called with the gate's lock held.
	Clock func() time.Duration
	// Commands receives each command after its outcome has become final. Calls do not overlap.
	Commands func(history.Command)
	// Ordered makes indices independent of which goroutine came first at one instant. Only
	// Number and Flush give commands their indices. Only they call Commands, for all
	// commands that have ended since the last call, sorted by index. In a Hit, a command
	// without an index has the index -1.
	Ordered bool
	// Stagger separates goroutines that would otherwise go on at one instant, in random order. Each
	// goroutine sleeps for Stagger's result for its client, node and connection; a step has node "" and
	// conn 0. Results must be positive and more than 3 ns apart, since the goroutines of one connection go
	// on 1 ns after each other. Nil = no goroutine sleeps. A goroutine sleeps
	//
	//   - when it has waited for its client to be resumed;
	//   - when it has waited at the gate until the gate was closed;
	//   - before and after the function of a point;
	//   - when a fault that prolonged its client's work has ended (Work).
	Stagger func(client int, node string, conn int) time.Duration
}

// New returns a gate without connections.
func New(o Options) *Gate {
	g := &Gate{
		clock: o.Clock, commands: o.Commands, ordered: o.Ordered, stagger: o.Stagger,
		done: make(chan struct{}),
	}
	for id := range o.Clients {
		g.clients = append(g.clients, &gateClient{id: id, op: -1, counts: map[string]*nodeCounts{}})
	}
	return g
}

// gateClient is the gate's state of one client. Gate.mu guards it.
type gateClient struct {
	id       int
	phase    string
	op       int
	counts   map[string]*nodeCounts // by node
	conns    []*Conn                // connections whose inner connection is open, by node and number
	pauses   []*pause
	pausedAt time.Time // when the client became paused; valid while pauses is not empty
	crashed  bool
	adopted  []locks.Process
	wake     chan struct{} // closed by changed; nil if nobody waits
	work     []*longWork
	slowed   bool // the last call of Work found the work prolonged
}

// nodeCounts counts a client's dials and commands at one node.
type nodeCounts struct {
	dials    int
	commands int // in the present step
}

func (cl *gateClient) at(node string) *nodeCounts {
	if cl.counts[node] == nil {
		cl.counts[node] = new(nodeCounts)
	}
	return cl.counts[node]
}

func (cl *gateClient) changed() {
	broadcast(&cl.wake)
	for _, c := range cl.conns {
		c.signal()
	}
}

// broadcast closes the channel that await returned, if any.
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

// Step does for a client what testbed.Client.Step promises. A paused client reaches the step only when it
// is resumed. If a point at the step's beginning pauses or crashes the client, that takes effect before
// Step returns.
func (g *Gate) Step(ctx context.Context, client int, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	cl, err := g.client(client)
	if err != nil {
		return err
	}
	if err := g.proceed(ctx, waiter{client: cl}); err != nil {
		return err
	}
	cl.phase = name
	for _, w := range cl.counts {
		w.commands = 0
	}
	g.reach(&history.Command{Client: client, Phase: name, Op: cl.op, Index: -1}, "", waiter{client: cl})
	return g.proceed(ctx, waiter{client: cl})
}

// proceed waits while the client is paused, and returns an error if the client must not go
// on. mu is held on entry and return.
func (g *Gate) proceed(ctx context.Context, w waiter) error {
	g.pass(w, ctx.Done())
	switch {
	case w.client.crashed:
		return testbed.ErrCrashed
	case g.closed:
		return net.ErrClosed
	}
	return ctx.Err()
}

// Open does for a client what testbed.Client.Open promises.
func (g *Gate) Open(client, op int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if cl, err := g.client(client); err == nil {
		cl.op = op
	}
}

// Dial calls dial to connect a client to a node, and wraps the connection. The connection
// is numbered before dial is called, so that a failed dial uses up a number, too. The *Conn
// that dial gets is the one that Dial returns. Until Dial has returned, only Number and the
// methods for the node's side (Observe, Arrived, Served, NodeEnded) of the *Conn may be called.
//
// If the client is paused, Dial waits. If the client has crashed, Dial fails when ctx ends or the gate is
// closed, or after lastWait if ctx has no deadline.
func (g *Gate) Dial(ctx context.Context, client int, node string,
	dial func(context.Context, *Conn) (net.Conn, error)) (*Conn, error) {
	return g.dial(ctx, client, node, false, dial)
}

// DialAside is Dial for a library's own requests to a Sentinel, which is not a node. Pauses
// and crashes of the client affect the connection, but its commands are neither counted nor
// logged.
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

// mayDial waits while the client is paused, and returns an error if the client may not dial.
// If the client has crashed, mayDial waits until ctx is done, and at most for lastWait if ctx
// has no deadline. mu is held on entry and return.
func (c *Conn) mayDial(ctx context.Context) error {
	g := c.gate
	g.pass(waiter{c.client, c, writing}, nil)
	if c.client.crashed && !g.closed {
		g.mu.Unlock()
		var last <-chan time.Time
		if _, ends := ctx.Deadline(); !ends {
			t := time.NewTimer(lastWait)
			defer t.Stop()
			last = t.C
		}
		select {
		case <-ctx.Done():
		case <-last:
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
	if err := ctx.Err(); err != nil || !c.client.crashed {
		return err
	}
	return os.ErrDeadlineExceeded
}

// waiter identifies a goroutine that waits at the gate: a client's step, a call of Awake, or
// a goroutine on one of the client's connections.
type waiter struct {
	client *gateClient
	conn   *Conn // nil for a step, and for role noticing
	role   role
}

// role is a goroutine's role on its connection. If several goroutines of a connection may go
// on at one instant, the lowest role goes first: the gate lets a reply through before the
// reader notices that its deadline has passed.
type role int

const (
	receiving role = iota
	writing
	reading
	noticing // a call of Awake, on no connection
)

// asleep sleeps for the waiter's stagger, so that the waiter goes on alone. If the waiter's connection is
// closed, the sleep ends at once: the goroutine that closed the connection may spin until the waiter
// returns, and a virtual clock stands still while a goroutine spins. mu is held on entry and return.
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

// staggered returns how long the waiter sleeps so that it goes on alone; 0 = not at all.
func (g *Gate) staggered(w waiter) time.Duration {
	switch {
	case g.stagger == nil:
		return 0
	case w.conn == nil:
		return g.stagger(w.client.id, "", 0)
	}
	return g.stagger(w.client.id, w.conn.node, w.conn.number) + time.Duration(w.role)
}

// pass waits while the client is paused and stop is open. Every pause counts the wait as
// one hit, unless the waiter's role is noticing. mu is held on entry and return.
func (g *Gate) pass(w waiter, stop <-chan struct{}) {
	var counted []*pause
	cl := w.client
	for len(cl.pauses) > 0 && !g.closed {
		for _, p := range cl.pauses {
			if w.role != noticing && !slices.Contains(counted, p) {
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

// Close withdraws all points, ends every wait at the gate with an error, closes all
// connections, and returns when the gate's own goroutines have ended.
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
