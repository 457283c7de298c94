package live

import (
	"context"
	"errors"
	"fmt"
	"net"
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

// BusOffset is the difference between a server's cluster bus port and its client port, unless the
// server is a Busser.
const BusOffset = 10_000

// Busser is a Server whose cluster bus is not at its port plus BusOffset.
type Busser interface {
	Server
	// Bus returns the address by which this program reaches the server's cluster bus, as
	// "host:port".
	Bus() string
}

// bus returns the address of the node's cluster bus, or an error while the node is down.
func (n *node) bus() (string, error) {
	s, err := n.running()
	if err != nil {
		return "", err
	}
	if b, ok := s.(Busser); ok {
		return b.Bus(), nil
	}
	host, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		return "", err
	}
	number, err := strconv.Atoi(port)
	return net.JoinHostPort(host, strconv.Itoa(number+BusOffset)), err
}

// joined opens two peer proxies for each node, one for its replicas and one for its cluster bus,
// and makes the node announce them. It must run before the nodes are started.
func (e *env) joined() error {
	e.peerProxies = newPeerProxies(e.proxies, e.place.ListenIP())
	e.cluster = newCluster(e)
	for _, n := range e.nodes {
		peerProxy, err := e.peerProxies.open(n.name, n.reach, nil)
		if err != nil {
			return err
		}
		bus, err := e.peerProxies.open(n.name, n.bus, nil)
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
	return nil
}

const timeoutOption = "cluster-node-timeout"

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// form makes the running nodes a cluster and returns when each of them reports that the
// cluster works.
func (e *env) form(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, formation)
	defer cancel()
	for i, s := range e.cluster.shards {
		if err := e.allot(ctx, i, s.master); err != nil {
			return fmt.Errorf("give %s its slots: %w", s.master.name, err)
		}
	}
	if err := e.introduce(ctx); err != nil {
		return err
	}
	forming, fctx := errgroup.WithContext(ctx)
	for i, n := range e.nodes {
		forming.Go(func() error { return e.joinCluster(fctx, n, e.nodes[i%testbed.Masters]) })
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

// allot gives the i-th master its slots and an epoch of its own. Masters with equal epochs
// would first have to resolve the conflict.
func (e *env) allot(ctx context.Context, i int, master *node) error {
	return master.ask(ctx, func(c *redis.Client) error {
		from, to := i*hashSlots/testbed.Masters, (i+1)*hashSlots/testbed.Masters-1
		return errors.Join(
			c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(),
			c.ClusterAddSlotsRange(ctx, from, to).Err(),
		)
	})
}

// introduce makes all pairs of nodes meet, because discovery would take seconds.
func (e *env) introduce(ctx context.Context) error {
	for i, n := range e.nodes {
		err := n.ask(ctx, func(c *redis.Client) error {
			for _, other := range e.nodes[:i] {
				host, port := e.cluster.peerProxies[other].addr()
				_, bus := e.cluster.buses[other].addr()
				if err := c.Do(ctx, "CLUSTER", "MEET", host, port, bus).Err(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("introduce %s to the others: %w", n.name, err)
		}
	}
	return nil
}

// joinCluster waits until n knows all other nodes, makes n a replica of master unless n is master, and
// waits until n reports that the cluster works.
func (e *env) joinCluster(ctx context.Context, n, master *node) error {
	var lacks error
	err := n.ask(ctx, func(c *redis.Client) error {
		lacks = until(ctx, func() (string, error) { return e.acquainted(ctx, c) })
		if lacks == nil && n != master {
			lacks = until(ctx, func() (string, error) { return e.following(ctx, c, master) })
		}
		if lacks == nil {
			lacks = until(ctx, func() (string, error) { return e.working(ctx, c) })
		}
		return lacks
	})
	if lacks != nil {
		err = lacks
	}
	if err != nil {
		return fmt.Errorf("node %s in the cluster: %w", n.name, err)
	}
	return nil
}

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

// acquainted names a node that c's node does not know or has no connection to yet; "" if none.
func (e *env) acquainted(ctx context.Context, c *redis.Client) (string, error) {
	known, err := knownTo(ctx, c)
	if err != nil {
		return "", err
	}
	for _, n := range e.nodes {
		if m := known[e.cluster.peerProxies[n].announced()]; m.id == "" || !m.connected {
			return "it does not know " + n.name, nil
		}
	}
	return "", nil
}

// following makes c's node follow master. It sends CLUSTER REPLICATE only while the node is a master
// itself, since a further such command would restart the sync. It returns the condition that is still
// missing; "" if none.
func (e *env) following(ctx context.Context, c *redis.Client, master *node) (string, error) {
	info, err := c.InfoMap(ctx, "replication").Result()
	if err != nil {
		return "", err
	}
	if info["Replication"]["role"] == "master" {
		known, err := knownTo(ctx, c)
		if err != nil {
			return "", err
		}
		if err := c.ClusterReplicate(ctx, known[e.cluster.peerProxies[master].announced()].id).Err(); err != nil {
			return err.Error(), nil
		}
		return "it has only been told to follow " + master.name, nil
	}
	if link := info["Replication"]["master_link_status"]; link != "up" {
		return "its link to " + master.name + " is " + link, nil
	}
	return "", nil
}

// working returns the reason why a node does not serve, or does not yet know every replica's
// master; "" if none.
func (e *env) working(ctx context.Context, c *redis.Client) (string, error) {
	if what, err := operative(ctx, c); what != "" || err != nil {
		return what, err
	}
	known, err := knownTo(ctx, c)
	if err != nil {
		return "", err
	}
	for i, n := range e.nodes {
		master := known[e.cluster.peerProxies[e.nodes[i%testbed.Masters]].announced()]
		if m := known[e.cluster.peerProxies[n].announced()]; m.master != (i < testbed.Masters) || !m.master && m.follows != master.id {
			return "it does not know whom " + n.name + " follows", nil
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
	id        string
	master    bool
	follows   string // the id of its master
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
		if len(f) < 8 || strings.Contains(f[2], "handshake") {
			continue
		}
		addr, _, _ := strings.Cut(f[1], "@")
		known[addr] = member{
			id: f[0], follows: f[3], connected: f[7] == "connected",
			master: strings.Contains(f[2], "master") && !strings.Contains(f[2], "fail"),
		}
	}
	return known, nil
}

// reachCluster gives a client its links to all nodes, and the go-redis client that finds
// the masters.
func (e *env) reachCluster(c *client, id int) error {
	known := dials{}
	var addrs []string
	for i, n := range e.nodes {
		l, err := e.newLink(id, i, n)
		if err != nil {
			return err
		}
		c.links = append(c.links, l)
		addr := e.cluster.peerProxies[n].announced()
		addrs = append(addrs, addr)
		known[addr] = func(ctx context.Context) (net.Conn, error) { return l.dial(ctx, id) }
	}
	c.cluster = c.ReachCluster(testbed.ClusterOptions(addrs, e.setup.CommandTimeout), known.dial)
	return nil
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
