package process

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// env is the running world of one trial.
type env struct {
	setup   testbed.Setup
	ctx     context.Context // servers live as long
	cancel  context.CancelCauseFunc
	dir     string
	gate    *testbed.Gate
	proxies *proxies
	network network
	nodes   []*node
	clients []*client

	mu      sync.Mutex
	primary *node       // of a replicated topology
	streams []*syncLink // to the present primary
}

var (
	_ testbed.Env     = (*env)(nil)
	_ testbed.Network = (*env)(nil)
	_ testbed.Nodes   = (*env)(nil)
	_ testbed.Clocks  = (*env)(nil)
	_ testbed.Clients = (*env)(nil)
)

func newEnv(ctx context.Context, s testbed.Setup, cancel context.CancelCauseFunc) *env {
	e := &env{setup: s, ctx: ctx, cancel: cancel, proxies: newProxies()}
	e.gate = testbed.NewGate(testbed.GateOptions{
		Clients: s.Clients,
		Clock:   s.Clock,
		Commands: func(c history.Command) {
			e.network.saw(c)
			s.Commands(c)
		},
	})
	return e
}

// client is one client process.
type client struct {
	id     int
	gate   *testbed.Gate
	locks  *locks.Client
	links  []*link // in the order of locks.Nodes
	cancel context.CancelFunc
	skew   atomic.Int64 // nanoseconds by which its wall clock is ahead
}

// connect makes client id with a link to every node that clients use.
func (e *env) connect(id int) error {
	ctx, cancel := context.WithCancel(e.ctx)
	c := &client{id: id, gate: e.gate, cancel: cancel}
	c.locks = &locks.Client{
		ID: fmt.Sprintf("c%d", id), Dial: c.dial, Now: c.now, Context: ctx,
		Rand: testbed.NewRandom(e.setup.Seed, id),
	}
	e.clients = append(e.clients, c)
	for _, n := range e.serving() {
		l, err := newLink(e.proxies, e.gate, id, n)
		if err != nil {
			return err
		}
		c.links = append(c.links, l)
		o := testbed.RedisOptions(l.proxy.Listen, e.setup.CommandTimeout)
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) }
		c.locks.Addrs = append(c.locks.Addrs, l.proxy.Listen)
		c.locks.Nodes = append(c.locks.Nodes, redis.NewClient(o))
	}
	return nil
}

// dial is locks.Client.Dial: it reaches the nodes by the addresses that the
// client knows.
func (c *client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for i, known := range c.locks.Addrs {
		if known == addr {
			return c.links[i].dial(ctx)
		}
	}
	return nil, fmt.Errorf("dial %s %s: c%d has no link to it", network, addr, c.id)
}

// now is the client's wall clock. It has no monotonic part that would betray the
// skew.
func (c *client) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.skew.Load()))
}

// Locks implements testbed.Client.
func (c *client) Locks() *locks.Client { return c.locks }

// Step implements testbed.Client.
func (c *client) Step(ctx context.Context, name string) error { return c.gate.Step(ctx, c.id, name) }

// Open implements testbed.Client.
func (c *client) Open(op int) { c.gate.Open(c.id, op) }

// Client implements testbed.Env.
func (e *env) Client(i int) testbed.Client { return e.clients[i] }

// Now implements testbed.Env.
func (e *env) Now() time.Duration { return e.setup.Clock() }

// At implements testbed.Env.
func (e *env) At(p testbed.Point, do func(testbed.Hit)) (cancel func()) { return e.gate.At(p, do) }

// PauseClient implements testbed.Clients.
func (e *env) PauseClient(client int) (testbed.Undo, error) { return e.gate.PauseClient(client) }

// CrashClient implements testbed.Clients.
func (e *env) CrashClient(client int) error { return e.gate.CrashClient(client) }

// Skew implements testbed.Clocks.
func (e *env) Skew(client int, offset time.Duration) { e.clients[client].skew.Store(int64(offset)) }

// serving returns the nodes that clients use now, in the order of
// locks.Client.Nodes.
func (e *env) serving() []*node {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.setup.Topology == testbed.Replicated {
		return []*node{e.primary}
	}
	return e.nodes
}

// node finds a node by name.
func (e *env) node(name string) (*node, error) {
	for _, n := range e.nodes {
		if n.name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q: there are n0 to n%d", name, len(e.nodes)-1)
}

// drainPatience bounds how long teardown waits for proxies to finish; they need
// a moment only, unless toxiproxy is stuck.
const drainPatience = 2 * time.Second

// drain waits until the proxies have closed all connections of the clients.
func (e *env) drain() {
	patience := time.NewTimer(drainPatience)
	defer patience.Stop()
	for _, c := range e.clients {
		for _, l := range c.links {
			select {
			case <-l.drained():
			case <-patience.C:
				return
			}
		}
	}
}
