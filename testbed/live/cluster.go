package live

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/testbed"
)

// Configuration of a cluster's nodes.
const (
	// nodeTimeout is how long a master may be silent before it counts as failed.
	nodeTimeout = time.Second
	// formingTimeout replaces nodeTimeout while nodes start and meet: the machine may be busy.
	formingTimeout = 20 * time.Second
	// clusterConfig is the file with a node's id and its view of the cluster. It survives a
	// loss of data, so that the node keeps its id.
	clusterConfig = "nodes.conf"
	// hashSlots is the number of slots in the specification of Redis Cluster.
	hashSlots = 16384
)

// bus returns the address of the node's cluster bus, or an error while the node is down.
func (n *node) bus() (string, error) {
	s, err := n.running()
	if err != nil {
		return "", err
	}
	return s.(Peer).Bus(), nil
}

// joined opens two peer proxies for each node, one for its replicas and one for its cluster bus,
// makes the node announce them, and makes the nodes a cluster. It must run before the nodes are started.
func (e *env) joined() error {
	e.peerProxies = newPeerProxies(e.proxies, e.place)
	e.cluster = newCluster(e)
	for _, n := range e.nodes {
		peerProxy, err := e.peerProxies.open(n.name, nodeNames(e.nodes), n.reach, nil)
		if err != nil {
			return err
		}
		bus, err := e.peerProxies.open(n.name, nodeNames(e.nodes), n.bus, nil)
		if err != nil {
			return err
		}
		e.cluster.peerProxies[n], e.cluster.buses[n] = peerProxy, bus
		host, port := peerProxy.addr()
		_, busPort := bus.addr()
		n.peerProxies, n.keeps, n.admit = e.peerProxies, clusterConfig, e.cluster.admit(n)
		n.args = []string{
			"--cluster-enabled", "yes", "--cluster-config-file", clusterConfig,
			"--cluster-announce-ip", host, "--cluster-announce-port", port, "--cluster-announce-bus-port", busPort,
			"--" + timeoutOption, milliseconds(formingTimeout),
		}
	}
	for _, n := range e.nodes {
		if err := e.acquaint(n); err != nil {
			return fmt.Errorf("configuration of %s: %w", n.name, err)
		}
	}
	return nil
}

// acquaint writes the node's view of the cluster, as if the nodes had met before, because discovery would take
// seconds. The masters share the slots, and have epochs of their own: with equal epochs, they would first have to
// resolve the conflict.
func (e *env) acquaint(n *node) error {
	if err := os.MkdirAll(n.dir, 0o755); err != nil {
		return err
	}
	var view strings.Builder
	for i, other := range e.nodes {
		_, bus := e.cluster.buses[other].addr()
		shard := i % testbed.Masters
		flags, follows, slots := "master", "-", fmt.Sprintf(" %d-%d", shard*hashSlots/testbed.Masters, (shard+1)*hashSlots/testbed.Masters-1)
		if i >= testbed.Masters {
			flags, follows, slots = "slave", serverID(e.nodes[shard]), ""
		}
		if other == n {
			flags = "myself," + flags
		}
		fmt.Fprintf(&view, "%s %s@%s %s %s 0 0 %d connected%s\n",
			serverID(other), e.cluster.peerProxies[other].announced(), bus, flags, follows, shard+1, slots)
	}
	fmt.Fprintf(&view, "vars currentEpoch %d lastVoteEpoch 0\n", testbed.Masters)
	return os.WriteFile(filepath.Join(n.dir, clusterConfig), []byte(view.String()), 0o644)
}

const timeoutOption = "cluster-node-timeout"

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// form returns when each of the running nodes reports that the cluster works.
func (e *env) form(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, formation)
	defer cancel()
	forming, fctx := errgroup.WithContext(ctx)
	for _, n := range e.nodes {
		forming.Go(func() error {
			err := n.ask(context.WithoutCancel(ctx), func(c *redis.Client) error {
				return until(fctx, func() (string, error) { return e.working(fctx, c) })
			})
			if err != nil {
				return fmt.Errorf("node %s in the cluster: %w", n.name, err)
			}
			return nil
		})
	}
	if err := forming.Wait(); err != nil {
		return err
	}
	for _, s := range e.cluster.shards {
		if err := s.master.synced(ctx, s.key, 1); err != nil {
			return err
		}
	}
	for _, n := range e.nodes {
		n.args[len(n.args)-1] = milliseconds(nodeTimeout)
		if err := n.ask(ctx, func(c *redis.Client) error { return c.ConfigSet(ctx, timeoutOption, milliseconds(nodeTimeout)).Err() }); err != nil {
			return fmt.Errorf("timeout of %s: %w", n.name, err)
		}
	}
	return nil
}

// formation bounds how long a cluster may take to form, and a client to learn the slots, on a busy
// machine.
const formation = time.Minute

// until calls the function lacking every pollEvery. It stops when lacking returns an error, or "" because
// nothing is lacking any more. If ctx ends first, until's error contains lacking's last result.
func until(ctx context.Context, lacking func() (string, error)) error {
	for {
		what, err := lacking()
		if err != nil || what == "" {
			return err
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
}

// retried converts err to the text of a missing condition, so that the function until polls again
// instead of failing. For a nil err, no condition is missing.
func retried(err error) (lacking string, fatal error) {
	if err == nil {
		return "", nil
	}
	return err.Error(), nil
}

// working returns the reason why a node does not serve, does not follow its master, or has no connection to
// another node yet; "" if none.
func (e *env) working(ctx context.Context, c *redis.Client) (string, error) {
	if what, err := operative(ctx, c); what != "" || err != nil {
		return what, err
	}
	info, err := c.InfoMap(ctx, "replication").Result()
	if err != nil {
		return "", err
	}
	if r := info["Replication"]; r["role"] != "master" && r["master_link_status"] != "up" {
		return "its link to its master is " + r["master_link_status"], nil
	}
	known, err := knownTo(ctx, c)
	if err != nil {
		return "", err
	}
	for _, n := range e.nodes {
		if !known[e.cluster.peerProxies[n].announced()].connected {
			return "it has no connection to " + n.name, nil
		}
	}
	return "", nil
}

// operative returns the reason why a node does not serve, "" if it serves.
func operative(ctx context.Context, c *redis.Client) (string, error) {
	info, err := c.ClusterInfo(ctx).Result()
	if err != nil {
		return "", err
	}
	if !strings.Contains(info, "cluster_state:ok") {
		return "to it the cluster is down", nil
	}
	return "", nil
}

// member is a node of a cluster as another node sees it.
type member struct {
	master    bool
	connected bool
}

// knownTo returns a node's view of the cluster, by announced address.
func knownTo(ctx context.Context, c *redis.Client) (map[string]member, error) {
	text, err := c.ClusterNodes(ctx).Result()
	if err != nil {
		return nil, err
	}
	known := map[string]member{}
	for line := range strings.Lines(text) {
		// Format: id addr:port@bus,… flags master ping pong epoch link slots…
		f := strings.Fields(line)
		if len(f) < 8 {
			continue
		}
		addr, _, _ := strings.Cut(f[1], "@")
		known[addr] = member{
			connected: f[7] == "connected",
			master:    strings.Contains(f[2], "master") && !strings.Contains(f[2], "fail"),
		}
	}
	return known, nil
}

// reachCluster gives a client its links to all nodes, and the go-redis client that finds
// the masters.
func (e *env) reachCluster(c *client, id int) error {
	addrs, known, err := e.reachAll(c, id, e.cluster.peerProxies, func(ctx context.Context, l *link, _ *node) (net.Conn, error) {
		return l.dial(ctx, id)
	})
	if err == nil {
		c.cluster = c.ReachCluster(testbed.ClusterOptions(addrs, e.setup.CommandTimeout), known.dial)
	}
	return err
}

// warmCluster makes a client learn the map of the slots, and connect to all nodes.
func (e *env) warmCluster(ctx context.Context, c *redis.ClusterClient) error {
	learning, cancel := context.WithTimeout(ctx, formation)
	defer cancel()
	if err := until(learning, func() (string, error) {
		_, err := c.MasterForKey(learning, e.cluster.shards[0].key)
		return retried(err) // poll again: a busy node may not answer in time
	}); err != nil {
		return fmt.Errorf("learn the slots: %w", err)
	}
	return c.ForEachShard(ctx, func(ctx context.Context, r *redis.Client) error { return warmUp(ctx, r, e.warmth()) })
}
