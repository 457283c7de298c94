package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2/client"
	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// LabName is the name of the testbed that drives the lab.
const LabName = "compose"

// Lab runs trials on the standing lab of docker-compose.yml, one at a time. Faults
// of the network are toxics that toxiproxy's own HTTP API puts on the links, so
// they are coarser than elsewhere: a cut ends all connections of its link when it
// is taken back, and of one connection alone nothing can be held. Nobody stands in
// front of the nodes: in what order commands ran, MONITOR tells, all of it or
// nothing. The lab's nodes are emptied before each trial.
type Lab struct {
	place   labPlace
	api     *toxiproxy.Client
	version string
	lock    *os.File
	turn    chan struct{} // held by the trial that runs
}

var _ testbed.Testbed = (*Lab)(nil)

// labPlace is where the lab is.
type labPlace struct {
	api       string // of toxiproxy, host:port
	host      string // on which proxies listen, as toxiproxy knows it
	firstPort int    // of those that proxies for clients may listen on
	ports     int
	masters   []labNode
	group     []labNode // a primary and its replicas
}

// labNode is a Redis server of the lab.
type labNode struct {
	upstream string // as toxiproxy reaches it
	straight string // as we do, past toxiproxy
}

// Environment of docker-compose.yml.
const (
	labAPIPort = "LOCKSTORM_TOXIPROXY_PORT"
	labPorts   = "LOCKSTORM_LAB_PORTS"
)

// OpenLab looks whether the lab is up and nobody else drives it. Close gives it
// back.
func OpenLab(ctx context.Context, parallel int) (*Lab, error) {
	if parallel > 1 {
		return nil, fmt.Errorf("%d trials at a time: the lab bears one", parallel)
	}
	p, err := standingLab(os.Getenv(labAPIPort), os.Getenv(labPorts))
	if err != nil {
		return nil, err
	}
	return openLab(ctx, p)
}

// standingLab is the lab of docker-compose.yml.
func standingLab(apiPort, digits string) (labPlace, error) {
	if apiPort == "" {
		apiPort = "8474"
	}
	if digits == "" {
		digits = "21"
	}
	first, err := strconv.Atoi(digits + "000")
	if err != nil {
		return labPlace{}, fmt.Errorf("$%s %q: expected the first digits of ports", labPorts, digits)
	}
	const loopback = "127.0.0.1"
	p := labPlace{api: net.JoinHostPort(loopback, apiPort), host: "0.0.0.0", firstPort: first, ports: 60}
	for i, service := range []string{"primary", "replica-1", "replica-2"} {
		p.group = append(p.group, labNode{service + ":6379", net.JoinHostPort(loopback, strconv.Itoa(first+100+i))})
	}
	for i := range 5 {
		p.masters = append(p.masters, labNode{fmt.Sprintf("master-%d:6379", i), net.JoinHostPort(loopback, strconv.Itoa(first+120+i))})
	}
	return p, nil
}

func openLab(ctx context.Context, p labPlace) (*Lab, error) {
	l := &Lab{place: p, api: toxiproxy.NewClient(p.api), turn: make(chan struct{}, 1)}
	defer idle()
	if _, err := l.api.Version(); err != nil {
		return nil, fmt.Errorf("no toxiproxy at %s: start the lab with `make up` (%w)", p.api, testbed.Bare(err))
	}
	for _, n := range append(p.masters[:len(p.masters):len(p.masters)], p.group...) {
		err := n.ask(ctx, func(c *redis.Client) error {
			info, err := c.InfoMap(ctx, "server").Result()
			l.version = info["Server"]["redis_version"]
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("no Redis at %s: start the lab with `make up` (%w)", n.straight, testbed.Bare(err))
		}
	}
	path := filepath.Join(os.TempDir(), "lockstorm-lab-"+strings.ReplaceAll(p.api, ":", "-")+".lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock of the lab: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("somebody else drives the lab: it bears one run at a time")
	}
	l.lock = f // the file stays: to remove it would let two runs lock two files
	return l, nil
}

// Close gives the lab back.
func (l *Lab) Close() error { return l.lock.Close() }

// idle closes the connections that toxiproxy's client leaves open.
func idle() {
	if t, ok := defaultTransport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Name implements testbed.Testbed.
func (*Lab) Name() string { return LabName }

// Nodes is how many independent nodes the lab has.
func (l *Lab) Nodes() int { return len(l.place.masters) }

// Version of the lab's Redis.
func (l *Lab) Version() string { return l.version }

// Topologies implements testbed.Testbed.
func (*Lab) Topologies() []testbed.Topology {
	return []testbed.Topology{testbed.Single, testbed.Replicated, testbed.Independent}
}

// Capabilities implements testbed.Testbed.
func (*Lab) Capabilities() []testbed.Capability {
	return []testbed.Capability{testbed.CanNetwork, testbed.CanClocks, testbed.CanClients}
}

// Clock implements testbed.Testbed: the machine's monotonic clock.
func (*Lab) Clock() func() time.Duration {
	started := time.Now()
	return func() time.Duration { return time.Since(started) }
}

// Run implements testbed.Testbed. It waits for its turn.
func (l *Lab) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) (err error) {
	if s, err = s.Complete(); err != nil {
		return fmt.Errorf("%s testbed: %w", LabName, err)
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := newLabEnv(ctx, l, s)
	defer func() { // whatever body does, a panic included
		if terr := e.tearDown(); terr != nil {
			err = testbed.JoinErrors(err, fmt.Errorf("%s testbed: %w", LabName, &testbed.TeardownError{Err: terr}))
		}
	}()
	if err := e.setUp(ctx); err != nil {
		return fmt.Errorf("%s testbed: %w", LabName, err)
	}
	return body(ctx, e)
}

// nodes that clients of a topology use, and all of it.
func (l *Lab) nodes(s testbed.Setup) (used, all []labNode, err error) {
	switch s.Topology {
	case testbed.Single:
		return l.place.masters[:1], l.place.masters[:1], nil
	case testbed.Independent:
		if s.Nodes > len(l.place.masters) {
			return nil, nil, fmt.Errorf("%d nodes: the lab has %d", s.Nodes, len(l.place.masters))
		}
		return l.place.masters[:s.Nodes], l.place.masters[:s.Nodes], nil
	case testbed.Replicated:
		return l.place.group[:1], l.place.group, nil
	}
	return nil, nil, fmt.Errorf("topology %s: this testbed has none", s.Topology)
}

// ask runs one exchange with the node itself, past toxiproxy.
func (n labNode) ask(ctx context.Context, exchange func(*redis.Client) error) error {
	o := testbed.RedisOptions(n.straight, patience)
	c := redis.NewClient(o)
	return errors.Join(exchange(c), c.Close())
}

// empty removes all keys, once the node is what it has to be.
func (n labNode) empty(ctx context.Context) error {
	err := n.ask(ctx, func(c *redis.Client) error {
		info, err := c.InfoMap(ctx, "replication").Result()
		if err != nil {
			return err
		}
		if info["Replication"]["role"] != "master" {
			return errors.New("it is a replica now: `make down up` sets the lab right")
		}
		return errors.Join(c.FlushAll(ctx).Err(), c.ScriptFlush(ctx).Err())
	})
	if err != nil {
		return fmt.Errorf("empty %s: %w", n.upstream, testbed.Bare(err))
	}
	return nil
}
