package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/testbed"
)

// Configuration of Sentinels. With shorter timeouts, a primary on a busy machine would look dead.
const (
	watched         = "lockstorm" // the Sentinels' name for the primary
	quorum          = 2
	downAfter       = time.Second
	failoverTimeout = 3 * time.Second
	// stagger is the difference between the down-after times of successive Sentinels. If all
	// Sentinels noticed a primary's death at the same moment, each would vote for itself, and the
	// next election would come only after twice the failover timeout.
	stagger = 300 * time.Millisecond
	// untilReady replaces downAfter while servers start, so that Sentinels do not fail
	// over.
	untilReady = 10 * time.Minute
)

// sentinels are the Sentinels of a trial. The harness learns of elections from the Sentinels'
// commands, which it reads before the nodes do.
type sentinels struct {
	all         []*node
	peerProxies map[*node]*peerProxy // peer proxies of Sentinels and nodes
	links       []*proxy             // of the links from clients to Sentinels
	shard       *shard               // all nodes; the shard's master is the primary
	// unclaimed says that no Promote has waited for the last election. Where killing a server takes long, Sentinels
	// may have elected another one before the caller of Kill gets to Promote.
	unclaimed atomic.Bool
	elections
}

func newSentinels(e *env) *sentinels {
	// After a fault, Sentinels may still vote on a node that was silent for downAfter. The leading
	// Sentinel has failoverTimeout to win the vote, and as long again to find a replica to promote.
	// A later attempt finds the primary alive.
	why := provocation{grace: downAfter + 2*failoverTimeout}
	return &sentinels{
		peerProxies: map[*node]*peerProxy{}, elections: elections{provocation: &why},
		shard: &shard{nodes: e.nodes, master: e.nodes[0], moved: map[int]bool{}},
	}
}

// servers returns the Sentinels; a nil *sentinels has none.
func (w *sentinels) servers() []*node {
	if w == nil {
		return nil
	}
	return w.all
}

// announce opens a peer proxy for each server and makes each node announce its proxy's address.
// announce must run before the servers are started.
func (e *env) announce() error {
	e.peerProxies = newPeerProxies(e.proxies, e.place)
	e.sentinels = newSentinels(e)
	for i := range testbed.Sentinels {
		n := e.newServer(fmt.Sprintf("s%d", i))
		n.sentinel = true
		e.sentinels.all = append(e.sentinels.all, n)
	}
	servers := slices.Concat(e.nodes, e.sentinels.all)
	for _, n := range servers {
		n.peerProxies = e.peerProxies
		var hear hearing
		if !n.sentinel {
			hear = e.hearing(n)
		}
		d, err := e.peerProxies.open(n.name, nodeNames(servers), n.reach, hear)
		if err != nil {
			return err
		}
		e.sentinels.peerProxies[n] = d
	}
	for i, n := range e.nodes {
		host, port := e.sentinels.peerProxies[n].addr()
		n.args = []string{
			"--replica-announce-ip", host, "--replica-announce-port", port, "--replica-priority", strconv.Itoa(priorities[i]),
		}
	}
	return nil
}

// priorities are the nodes' replica priorities. Sentinels prefer n1 and never promote n2,
// so that the new primary is not random.
var priorities = []int{100, 10, 0}

// reach returns the node's address, or an error while the node is down.
func (n *node) reach() (string, error) {
	if _, err := n.running(); err != nil {
		return "", err
	}
	return n.addr(), nil
}

// surveil starts the Sentinels and returns when they are ready to fail over. The other
// nodes already replicate n0.
func (e *env) surveil(ctx context.Context) error {
	starting, sctx := errgroup.WithContext(ctx)
	for _, s := range e.sentinels.all {
		starting.Go(func() error {
			if err := e.instruct(s); err != nil {
				return fmt.Errorf("configuration of %s: %w", s.name, err)
			}
			if err := s.start(ctx); err != nil {
				return err
			}
			return e.watchful(sctx, s)
		})
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	for i, s := range e.sentinels.all {
		timeout := downAfter + time.Duration(i)*stagger
		err := s.askSentinel(ctx, func(c *redis.SentinelClient) error {
			return c.Set(ctx, watched, "down-after-milliseconds", milliseconds(timeout)).Err()
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// instruct writes a Sentinel's configuration, which lists all other Sentinels, because discovery
// would take seconds.
func (e *env) instruct(s *node) error {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	host, port := e.sentinels.peerProxies[s].addr()
	primary, at := e.sentinels.peerProxies[e.nodes[0]].addr()
	lines := []string{
		"sentinel myid " + serverID(s),
		"sentinel announce-ip " + host,
		"sentinel announce-port " + port,
		fmt.Sprintf("sentinel monitor %s %s %s %d", watched, primary, at, quorum),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", watched, untilReady.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s %d", watched, failoverTimeout.Milliseconds()),
		fmt.Sprintf("sentinel parallel-syncs %s %d", watched, testbed.Replicas),
	}
	for _, n := range e.nodes[1:] {
		host, port := e.sentinels.peerProxies[n].addr()
		lines = append(lines, fmt.Sprintf("sentinel known-replica %s %s %s", watched, host, port))
	}
	for _, other := range e.sentinels.all {
		if other != s {
			host, port := e.sentinels.peerProxies[other].addr()
			lines = append(lines, fmt.Sprintf("sentinel known-sentinel %s %s %s %s", watched, host, port, serverID(other)))
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	return os.WriteFile(filepath.Join(s.dir, sentinelConfig), []byte(text), 0o644)
}

const sentinelConfig = "sentinel.conf"

// serverID returns the id of a Sentinel or a cluster's node: 40 hexadecimal digits.
func serverID(s *node) string { return fmt.Sprintf("%040x", s.name) }

// watchful waits until a Sentinel reaches all other Sentinels and knows the replicas' state.
func (e *env) watchful(ctx context.Context, s *node) error {
	timeout, cancel := context.WithTimeout(ctx, untilWatchful)
	defer cancel()
	return s.askSentinel(ctx, func(c *redis.SentinelClient) error {
		if err := until(timeout, func() (string, error) { return unready(ctx, c) }); err != nil {
			return fmt.Errorf("wait for %s to be ready: %w", s.name, err)
		}
		return nil
	})
}

// untilWatchful bounds how long a Sentinel may take to be ready. A Sentinel repeats a failed
// request only after ten seconds.
const untilWatchful = 30 * time.Second

// pollEvery is the pause between two polls of a server.
const pollEvery = 20 * time.Millisecond

// unready returns the reason why a Sentinel is not ready; "" if it is ready.
func unready(ctx context.Context, s *redis.SentinelClient) (string, error) {
	others, err := s.Sentinels(ctx, watched).Result()
	if err != nil {
		return "", err
	}
	for _, o := range others {
		if o["flags"] != "sentinel" {
			return fmt.Sprintf("%s:%s is %s", o["ip"], o["port"], o["flags"]), nil
		}
	}
	replicas, err := s.Replicas(ctx, watched).Result()
	if err != nil {
		return "", err
	}
	for _, r := range replicas {
		// Before the replica's first answer to INFO, its priority is 100.
		if r["flags"] != "slave" || r["master-link-status"] != "ok" || r["slave-priority"] == "100" {
			return fmt.Sprintf("%s is %s with link %s and priority %s", r["name"], r["flags"], r["master-link-status"], r["slave-priority"]), nil
		}
	}
	if len(others) < testbed.Sentinels-1 || len(replicas) < testbed.Replicas {
		return fmt.Sprintf("it knows %d others and %d replicas", len(others), len(replicas)), nil
	}
	return "", nil
}

// askSentinel calls exchange with a client for a Sentinel's own commands, which bypasses links and gate.
func (n *node) askSentinel(ctx context.Context, exchange func(*redis.SentinelClient) error) error {
	return n.ask(ctx, func(c *redis.Client) error {
		s := redis.NewSentinelClient(testbed.RedisOptions(c.Options().Addr, adminTimeout))
		return errors.Join(exchange(s), s.Close())
	})
}

// state describes the primary according to the Sentinel, for error messages.
func state(ctx context.Context, s *redis.SentinelClient) string {
	m, err := s.Master(ctx, watched).Result()
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("the primary is %s, %s Sentinels reached", m["flags"], m["num-other-sentinels"])
	if stage := m["failover-state"]; stage != "" {
		text += ", failover: " + stage
	}
	return text
}
