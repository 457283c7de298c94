package live

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/gate"
	"github.com/lockstorm/lockstorm/testbed/tempdir"
)

// env is the running world of one trial. It has many methods because it has every capability of a testbed, each in
// its file: they act on the same servers and links.
type env struct {
	setup       testbed.Setup
	ctx         context.Context // servers are killed when ctx ends
	cancel      context.CancelCauseFunc
	place       Place
	temp        *tempdir.Dir
	clocks      bool // servers have wall clocks of their own
	gate        *gate.Gate
	proxies     *proxies
	peerProxies *peerProxies // nil unless the servers elect a primary
	network     network
	nodes       []*node
	clients     []*client
	links       []*link // the links of all clients

	sentinels *sentinels // nil except in topology Sentinel
	cluster   *cluster   // nil except in topology Cluster

	mu      sync.Mutex
	primary *node       // nil unless the topology is Replicated or Sentinel
	streams []*syncLink // links to the present primary
}

// ownEnv is a world whose servers belong to the trial, so that faults may hit them.
type ownEnv struct{ *env }

// manualEnv is a world whose servers hold no elections.
type manualEnv struct{ ownEnv }

// world returns the Env that the body gets: e in a type that implements the trial's capabilities.
func (e *env) world(p Provider) testbed.Env {
	if _, guest := p.(Guest); guest {
		return e
	}
	own := ownEnv{e}
	switch {
	case e.cluster != nil && e.clocks:
		return clusterClockEnv{clusterEnv{own, e.cluster}, nodeClocks{e}}
	case e.cluster != nil:
		return clusterEnv{own, e.cluster}
	case e.sentinels == nil && e.clocks:
		return clockEnv{manualEnv{own}, nodeClocks{e}}
	case e.sentinels == nil:
		return manualEnv{own}
	}
	watched := sentinelEnv{own, e.sentinels}
	if e.clocks {
		return watchedClockEnv{watched, nodeClocks{e}}
	}
	return watched
}

var (
	_ testbed.Env       = (*env)(nil)
	_ testbed.Network   = (*env)(nil)
	_ testbed.Inspector = (*env)(nil)
	_ testbed.Clocks    = (*env)(nil)
	_ testbed.Clients   = (*env)(nil)

	_ testbed.Env        = ownEnv{}
	_ testbed.Network    = ownEnv{}
	_ testbed.Nodes      = ownEnv{}
	_ testbed.Clocks     = ownEnv{}
	_ testbed.Clients    = ownEnv{}
	_ testbed.Memory     = ownEnv{}
	_ testbed.SplitBrain = manualEnv{}
)

func newEnv(ctx context.Context, s testbed.Setup, cancel context.CancelCauseFunc) *env {
	e := &env{setup: s, ctx: ctx, cancel: cancel, proxies: newProxies()}
	e.gate = gate.New(gate.Options{
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
	*gate.Client
	links   []*link              // in the order of locks.Client.Nodes; if servers elect masters, links to all nodes
	cluster *redis.ClusterClient // nil unless the topology is Cluster
}

// connect makes client id with a link to every node that clients use. With SharedLinks, all
// clients use the links of client 0.
func (e *env) connect(id int) error {
	c := &client{Client: gate.NewClient(e.ctx, e.gate, e.setup.Seed, id)}
	e.clients = append(e.clients, c)
	if p, ok := e.place.(Shared); ok {
		c.Locks().Prefix = p.Prefix()
	}
	if e.sentinels != nil {
		return e.reachWatched(c, id)
	}
	if e.cluster != nil {
		return e.reachCluster(c, id)
	}
	for i, n := range e.serving() {
		l, err := e.newLink(id, i, n)
		if err != nil {
			return err
		}
		c.links = append(c.links, l)
		c.Reach(testbed.RedisOptions(l.addr(), e.setup.CommandTimeout), func(ctx context.Context) (net.Conn, error) {
			return l.dial(ctx, id)
		})
	}
	c.Locks().Watch = func(addr string, changed func(up bool)) {
		if i := slices.Index(c.Locks().Addrs, addr); i >= 0 {
			c.links[i].watch(e.nodes, changed)
		}
	}
	return nil
}

// newLink returns client id's link to n; number is its index in client.links.
func (e *env) newLink(id, number int, n *node) (*link, error) {
	if e.setup.SharedLinks {
		if id > 0 {
			return e.clients[0].links[number], nil
		}
		id = everyone
	}
	l, err := newLink(e.proxies, e.gate, id, n)
	if err == nil {
		e.links = append(e.links, l)
	}
	return l, err
}

// Client implements testbed.Env.
func (e *env) Client(i int) testbed.Client { return e.clients[i] }

// Now implements testbed.Env.
func (e *env) Now() time.Duration { return e.setup.Clock() }

// At implements testbed.Env.
func (e *env) At(p testbed.Point, do func(testbed.Hit)) (cancel func()) { return e.gate.At(p, do) }

// PauseClient implements testbed.Clients.
func (e *env) PauseClient(client int) (testbed.Undo, error) { return e.gate.PauseClient(client) }

// SlowWork implements testbed.Clients.
func (e *env) SlowWork(client int) (testbed.Undo, error) { return e.gate.SlowWork(client) }

// HangWork implements testbed.Clients.
func (e *env) HangWork(client int, hangs func() error) (testbed.Undo, error) {
	return e.gate.HangWork(client, hangs)
}

// CrashClient implements testbed.Clients.
func (e *env) CrashClient(client int) error { return e.gate.CrashClient(client) }

// Skew implements testbed.Clocks.
func (e *env) Skew(client int, offset time.Duration) { e.clients[client].Skew(offset) }

// serving returns the nodes that clients use now, in the order of locks.Client.Nodes.
func (e *env) serving() []*node {
	if primary := e.present(); primary != nil {
		return []*node{primary}
	}
	return e.nodes
}

func nodeNames(nodes []*node) []string {
	all := make([]string, len(nodes))
	for i, n := range nodes {
		all[i] = n.name
	}
	return all
}

func (e *env) node(name string) (*node, error) {
	for _, n := range e.nodes {
		if n.name == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q: there are n0 to n%d", name, len(e.nodes)-1)
}

// drainTimeout bounds how long teardown waits for proxies to finish. They take only a
// moment, unless toxiproxy is stuck.
const drainTimeout = 2 * time.Second

// drain waits until the proxies have closed all connections of the clients.
func (e *env) drain() {
	end := time.Now().Add(drainTimeout)
	wait := func(p *proxy) {
		for !p.idle() && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
	}
	for _, l := range e.links {
		wait(l.proxy)
	}
	if e.sentinels != nil {
		for _, p := range e.sentinels.links {
			wait(p)
		}
	}
}

// Open files of this program. A connection to a node needs five: the client's end, two of
// the proxy, and two of the tap. A link needs a listener.
const (
	filesPerConnection = 5
	filesPerLink       = 1
)

// checkFiles returns an error if the clients need more open files than this program may open. Go's
// runtime has raised the soft limit to the hard limit. Concurrent trials share the limit.
func (e *env) checkFiles() error {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return nil
	}
	nodes := len(e.serving())
	links := nodes * e.setup.Clients
	if e.setup.SharedLinks {
		links = nodes
	}
	need := nodes*e.setup.Clients*e.warmth()*filesPerConnection + links*filesPerLink
	if uint64(need) <= uint64(limit.Cur) {
		return nil
	}
	hint := ", or let clients share links"
	if e.setup.SharedLinks {
		hint = ""
	}
	return fmt.Errorf("%d clients need %d open files, and this program may have %d: raise the limit (ulimit -n)%s",
		e.setup.Clients, need, limit.Cur, hint)
}
