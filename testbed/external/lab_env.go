package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live"
)

// defaultTransport is what toxiproxy's client uses.
var defaultTransport = http.DefaultTransport

// labEnv is the running world of one trial in the lab.
type labEnv struct {
	lab     *Lab
	setup   testbed.Setup
	ctx     context.Context
	gate    *testbed.Gate
	nodes   []labNode // that clients use, n0 first
	clients []*testbed.GatedClient
	links   []*labLink
	nears   live.Tally  // near ends whose proxy has not closed yet
	mark    string      // how the names of this trial's connections begin
	ears    []*listener // one at each of nodes

	mu    sync.Mutex
	ended []history.Command
}

var (
	_ testbed.Env       = (*labEnv)(nil)
	_ testbed.Network   = (*labEnv)(nil)
	_ testbed.Inspector = (*labEnv)(nil)
	_ testbed.Clocks    = (*labEnv)(nil)
	_ testbed.Clients   = (*labEnv)(nil)
)

func newLabEnv(ctx context.Context, l *Lab, s testbed.Setup) *labEnv {
	e := &labEnv{lab: l, setup: s, ctx: ctx, mark: newPrefix()}
	e.gate = testbed.NewGate(testbed.GateOptions{
		Clients: s.Clients,
		Clock:   s.Clock,
		Commands: func(c history.Command) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.ended = append(e.ended, c)
		},
	})
	return e
}

// setUp empties the nodes and opens a proxy per client and node.
func (e *labEnv) setUp(ctx context.Context) error {
	var err error
	if e.nodes, _, err = e.lab.nodes(e.setup); err != nil {
		return err
	}
	if need := e.setup.Clients * len(e.nodes); need > e.lab.place.ports {
		return fmt.Errorf("%d clients and %d nodes need %d links: the lab has ports for %d", e.setup.Clients, len(e.nodes), need, e.lab.place.ports)
	}
	if err := e.sweep(); err != nil {
		return err
	}
	for _, n := range e.nodes {
		if err := n.empty(ctx); err != nil {
			return err
		}
		ear, err := listen(ctx, n, e.setup.Clock, e.mark)
		if err != nil {
			return err
		}
		e.ears = append(e.ears, ear)
	}
	for id := range e.setup.Clients {
		c := testbed.NewGatedClient(e.ctx, e.gate, e.setup.Seed, id)
		e.clients = append(e.clients, c)
		for i, n := range e.nodes {
			l, err := e.open(id, i, n)
			if err != nil {
				return err
			}
			r := c.Reach(testbed.RedisOptions(l.addr, e.setup.CommandTimeout), l.dial)
			if err := testbed.WarmUp(ctx, r.WithTimeout(patience), testbed.WarmConnections); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep heals the lab, and removes the proxies of a run that could not.
func (e *labEnv) sweep() error {
	p := e.lab.place
	if err := e.lab.api.ResetState(); err != nil {
		return fmt.Errorf("toxiproxy: %w", err)
	}
	all, err := e.lab.api.Proxies()
	if err != nil {
		return fmt.Errorf("toxiproxy: %w", err)
	}
	for _, one := range all {
		_, text, _ := net.SplitHostPort(one.Listen)
		if port, _ := strconv.Atoi(text); port >= p.firstPort && port < p.firstPort+p.ports {
			if err := one.Delete(); err != nil {
				return fmt.Errorf("remove proxy %s: %w", one.Name, err)
			}
		}
	}
	return nil
}

// open makes the proxy from a client to a node.
func (e *labEnv) open(client, node int, n labNode) (*labLink, error) {
	p := e.lab.place
	port := strconv.Itoa(p.firstPort + len(e.links))
	l := &labLink{
		env: e, client: client, node: fmt.Sprintf("n%d", node), addr: net.JoinHostPort("127.0.0.1", port),
		toxics: map[string]int{}, conns: map[*labConn]bool{},
	}
	proxy, err := e.lab.api.CreateProxy(fmt.Sprintf("c%d-%s", client, l.node), net.JoinHostPort(p.host, port), n.upstream)
	if err != nil {
		return nil, fmt.Errorf("proxy from c%d to %s: %w", client, l.node, err)
	}
	l.proxy = proxy
	e.links = append(e.links, l)
	return l, nil
}

// drainPatience bounds how long teardown waits for proxies to close connections.
const drainPatience = 2 * time.Second

// tearDown ends clients, gate and proxies, in the order that lets nothing wait for
// a timeout.
func (e *labEnv) tearDown() error {
	defer idle()
	var errs []error
	for _, c := range e.clients {
		c.End()
	}
	e.gate.Close()
	for _, c := range e.clients {
		for _, r := range c.Pools() {
			errs = append(errs, r.Close())
		}
	}
	errs = append(errs, e.sweep())
	drained := e.nears.None()
	select {
	case <-drained:
	case <-time.After(drainPatience):
		for _, l := range e.links {
			l.sever()
		}
		<-drained
	}
	e.gate.Flush()
	errs = append(errs, e.tell())
	for _, n := range e.nodes { // what was held may have arrived after all
		errs = append(errs, n.empty(context.WithoutCancel(e.ctx)))
	}
	return errors.Join(errs...)
}

// Client implements testbed.Env.
func (e *labEnv) Client(i int) testbed.Client { return e.clients[i] }

// Now implements testbed.Env.
func (e *labEnv) Now() time.Duration { return e.setup.Clock() }

// At implements testbed.Env.
func (e *labEnv) At(p testbed.Point, do func(testbed.Hit)) (cancel func()) { return e.gate.At(p, do) }

// PauseClient implements testbed.Clients.
func (e *labEnv) PauseClient(client int) (testbed.Undo, error) { return e.gate.PauseClient(client) }

// CrashClient implements testbed.Clients.
func (e *labEnv) CrashClient(client int) error { return e.gate.CrashClient(client) }

// Skew implements testbed.Clocks.
func (e *labEnv) Skew(client int, offset time.Duration) { e.clients[client].Skew(offset) }

// List implements testbed.Inspector.
func (e *labEnv) List() []string {
	var names []string
	for i := range e.nodes {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}

// Keys implements testbed.Inspector. Replicas are nodes, too.
func (e *labEnv) Keys(ctx context.Context, node string) (keys []history.KeyState, err error) {
	_, all, _ := e.lab.nodes(e.setup)
	for i, n := range all {
		if fmt.Sprintf("n%d", i) != node {
			continue
		}
		err := n.ask(ctx, func(c *redis.Client) (err error) {
			keys, err = live.Keys(ctx, c)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("keys of node %s: %w", node, testbed.Bare(err))
		}
		return keys, nil
	}
	return nil, fmt.Errorf("no node %q: there are n0 to n%d", node, len(all)-1)
}
