package live

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/tempdir"
)

// Testbed runs trials on a provider's servers. Trials may run concurrently.
type Testbed struct {
	provider Provider
	temp     string
	sweep    sync.Once
}

var (
	_ testbed.Testbed = (*Testbed)(nil)
	_ testbed.Lacking = (*Testbed)(nil)
)

// New returns a testbed on p's servers. The testbed makes the nodes' directories in temp and
// removes them after each trial; "" = the system's directory for temporary files. The first trial
// removes directories that killed programs left in temp.
func New(p Provider, temp string) *Testbed { return &Testbed{provider: p, temp: temp} }

// Name implements testbed.Testbed.
func (t *Testbed) Name() string { return t.provider.Name() }

// Topologies implements testbed.Testbed.
func (t *Testbed) Topologies() []testbed.Topology {
	if g, ok := t.provider.(Guest); ok {
		return g.Topologies()
	}
	all := []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}
	if p, ok := t.provider.(Electing); ok && p.Elects() {
		all = append(all, testbed.Sentinel, testbed.Cluster)
	}
	return all
}

// Capabilities implements testbed.Testbed.
func (t *Testbed) Capabilities() []testbed.Capability {
	if _, guest := t.provider.(Guest); guest {
		return []testbed.Capability{testbed.CanNetwork, testbed.CanClocks, testbed.CanClients}
	}
	able := []testbed.Capability{
		testbed.CanNetwork, testbed.CanNodes, testbed.CanClocks, testbed.CanClients,
		testbed.CanMemory, testbed.CanSplitBrain, testbed.CanSlots,
	}
	if clocks(t.provider) == nil {
		able = append(able, testbed.CanNodeClocks)
	}
	return able
}

// Lacks implements testbed.Lacking.
func (t *Testbed) Lacks() map[testbed.Capability]string {
	if _, ok := t.provider.(Clockmaker); ok {
		if err := clocks(t.provider); err != nil {
			return map[testbed.Capability]string{testbed.CanNodeClocks: err.Error()}
		}
	}
	return nil
}

// Clock implements testbed.Testbed: the machine's monotonic clock.
func (*Testbed) Clock() func() time.Duration {
	started := time.Now()
	return func() time.Duration { return time.Since(started) }
}

// WatchesKeys reports that the testbed observes the changes of the nodes' keys.
func (*Testbed) WatchesKeys() bool { return true }

// Run implements testbed.Testbed. If a node or a proxy dies unexpectedly or becomes unusable
// (deadNode), the body's context ends, and Run returns the error that tells why, whatever the body
// returned.
func (t *Testbed) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) (err error) {
	if s, err = s.Complete(); err != nil {
		return fmt.Errorf("%s testbed: %w", t.Name(), err)
	}
	if _, guest := t.provider.(Guest); guest {
		s.Monitor = "" // MONITOR would show commands of the server's other users
	}
	t.sweep.Do(func() { tempdir.Sweep(t.temp) })
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	e := newEnv(ctx, s, cancel)
	defer func() { // runs even if body panics
		if terr := e.tearDown(); terr != nil {
			err = testbed.JoinErrors(err, fmt.Errorf("%s testbed: %w", t.Name(), &testbed.TeardownError{Err: terr}))
		}
	}()
	if err := e.setUp(ctx, t.provider, t.temp); err != nil {
		return fmt.Errorf("%s testbed: %w", t.Name(), orDeath(ctx, err))
	}
	for _, n := range e.nodes {
		n.aof.begin(n.dir, n.clock()) // fsyncs are timed from here, not from set-up
	}
	err = body(ctx, e.world(t.provider))
	if death := death(ctx); death != nil {
		return fmt.Errorf("%s testbed: %w", t.Name(), death)
	}
	return err
}

// deadNode is the cancellation cause of a trial whose node or proxy died unexpectedly, or whose node
// cannot store its data or cannot be observed any more.
type deadNode struct{ error }

// Unwrap returns the testbed's error.
func (d deadNode) Unwrap() error { return d.error }

func death(ctx context.Context) error {
	var d deadNode
	if errors.As(context.Cause(ctx), &d) {
		return d
	}
	return nil
}

// orDeath returns the error of a dead node or proxy, if one has died, since err is only a
// consequence of that death. Otherwise it returns err.
func orDeath(ctx context.Context, err error) error {
	if d := death(ctx); d != nil {
		return d
	}
	return err
}

// setUp starts nodes, links and clients.
func (e *env) setUp(ctx context.Context, p Provider, temp string) (err error) {
	if e.place, err = p.Open(ctx); err != nil {
		return err
	}
	e.clocks = clocks(p) == nil
	if e.temp, err = tempdir.Make(temp); err != nil {
		return fmt.Errorf("directory for the nodes: %w", pathError(err))
	}
	for _, dir := range []string{e.setup.Logs, e.setup.Monitor} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("log directory: %w", err)
		}
	}
	if err := e.startNodes(ctx); err != nil {
		return err
	}
	if err := e.checkFiles(); err != nil {
		return err
	}
	if err := e.observe(ctx); err != nil {
		return err
	}
	for id := range e.setup.Clients {
		if err := e.connect(id); err != nil {
			return err
		}
	}
	with := warmUp
	if e.sentinels != nil {
		with = warmWatched
	}
	warm, ctx := errgroup.WithContext(ctx)
	warm.SetLimit(warmedAtOnce)
	for _, c := range e.clients {
		if c.cluster != nil {
			warm.Go(func() error { return e.warmCluster(ctx, c.cluster) })
		}
		for _, r := range c.Pools() {
			warm.Go(func() error { return with(ctx, r, e.warmth()) })
		}
	}
	return warm.Wait()
}

// startNodes starts all servers concurrently, then replication, Sentinels or the cluster.
func (e *env) startNodes(ctx context.Context) error {
	starting, sctx := errgroup.WithContext(ctx)
	for i := range e.setup.Nodes {
		e.nodes = append(e.nodes, e.newServer(fmt.Sprintf("n%d", i)))
	}
	announce := map[testbed.Topology]func() error{testbed.Sentinel: e.announce, testbed.Cluster: e.joined}[e.setup.Topology]
	if announce != nil {
		if err := announce(); err != nil {
			return err
		}
	}
	for _, n := range e.nodes {
		// n.start gets ctx, not sctx: the server must outlive the group's context.
		starting.Go(func() error {
			if err := sctx.Err(); err != nil {
				return err
			}
			if err := e.equip(n); err != nil {
				return err
			}
			return n.start(ctx)
		})
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	switch e.setup.Topology {
	case testbed.Replicated:
		return e.replicate(ctx)
	case testbed.Sentinel:
		if err := e.replicate(ctx); err != nil {
			return err
		}
		return e.surveil(ctx)
	case testbed.Cluster:
		return e.form(ctx)
	}
	return nil
}

// equip gives a node its own clock and its log of commands, if the trial has them. The
// node keeps both until the trial ends.
func (e *env) equip(n *node) (err error) {
	if e.clocks {
		if err := n.giveClock(); err != nil {
			return err
		}
	}
	if e.setup.Monitor != "" {
		n.monitor, err = newMonitor(e.setup.Monitor, n.name)
	}
	return err
}

// newServer does not start the node's server.
func (e *env) newServer(name string) *node {
	dir := filepath.Join(e.temp.Path(), name)
	if h, ok := e.place.(Housed); ok {
		dir = h.Dir(name)
	}
	return newNode(name, e.place, dir, logFile(e.setup.Logs, name), e.setup, func(err error) {
		e.cancel(deadNode{err})
	})
}

// warmedAtOnce bounds how many clients connect concurrently: go-redis's dial timeout
// includes the wait for other dials.
const warmedAtOnce = 16

// warmth returns how many connections each client makes to each node before the body
// starts, so that faults hit commands, not handshakes.
func (e *env) warmth() int {
	if e.setup.SharedLinks {
		return 1
	}
	return testbed.WarmConnections
}

func warmUp(ctx context.Context, r *redis.Client, connections int) error {
	return testbed.WarmUp(ctx, r.WithTimeout(adminTimeout), connections) // adminTimeout, since the machine may be busy
}

// tearDown ends everything in this order, so that nothing waits for a timeout: clients,
// gate, faults in force, proxies, taps, servers.
func (e *env) tearDown() error {
	var errs []error
	for _, n := range e.nodes {
		n.stopCounting()
		n.observer.end()
	}
	for _, c := range e.clients {
		c.End()
	}
	e.gate.Close()
	for _, c := range e.clients {
		if c.cluster != nil {
			errs = append(errs, c.cluster.Close())
		}
		for _, r := range c.Pools() {
			errs = append(errs, r.Close())
		}
	}
	e.proxies.heal()
	e.drain()
	e.proxies.close()
	for _, l := range e.links {
		errs = append(errs, l.close())
	}
	for _, n := range e.nodes {
		n.observer.finish()
		n.observer.close()
	}
	e.gate.Flush()
	errs = append(errs, e.closeServers())
	if e.place != nil {
		errs = append(errs, e.place.Close())
	}
	if e.temp != nil {
		errs = append(errs, e.temp.Remove())
	}
	return errors.Join(errs...)
}

// closeServers closes all servers concurrently, since a container ends slowly.
func (e *env) closeServers() error {
	servers := slices.Concat(e.nodes, e.sentinels.servers())
	errs := make([]error, len(servers))
	var closing sync.WaitGroup
	for i, n := range servers {
		closing.Go(func() { errs[i] = n.close() })
	}
	closing.Wait()
	return errors.Join(errs...)
}

// pathError reduces a *fs.PathError, even a wrapped one, to the directory and the cause. It returns any
// other error unchanged.
func pathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", filepath.Dir(p.Path), p.Err)
	}
	return err
}
