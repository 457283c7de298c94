package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// routeVariable is the environment variable that has a child's route, for children of this program only.
const routeVariable = "LOCKSTORM_ROUTE"

// path is the value of routeVariable.
type path struct {
	testbed.Route
	CommandTimeout time.Duration
	// Known are the addresses that the ports in LOCKSTORM_ADDRS stand for.
	Known []string
}

// joined is a client in this process.
type joined struct {
	path
	ports  []string
	client *locks.Client
	passed *passages
}

// join makes the client for which the environment has the settings, and opens its connections.
func join(ctx context.Context, now func() time.Time, passed *passages) (*locks.Client, error) {
	j := &joined{passed: passed, ports: strings.Split(os.Getenv("LOCKSTORM_ADDRS"), ",")}
	seed, err := strconv.ParseUint(os.Getenv("LOCKSTORM_SEED"), 10, 64)
	if err = errors.Join(err, json.Unmarshal([]byte(os.Getenv(routeVariable)), &j.path)); err != nil {
		return nil, fmt.Errorf("client: read the environment: %w", err)
	}
	j.client = &locks.Client{
		ID: os.Getenv("LOCKSTORM_CLIENT"), Addrs: j.Addrs, Prefix: j.Prefix, Dial: j.dial, Now: now, Context: ctx, Rand: testbed.NewRandom(seed, 0),
	}
	if err := j.connect(ctx); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return j.client, nil
}

// dial connects to a node by way of the port that stands for it.
func (j *joined) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	i := slices.Index(j.Known, addr)
	if i < 0 || i >= len(j.ports) {
		return nil, fmt.Errorf("dial %s: %s has no link to it", addr, j.client.ID)
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp4", j.ports[i])
	if err != nil {
		return nil, testbed.BareError(err)
	}
	of := connection(c.LocalAddr(), c.RemoteAddr())
	j.passed.open(of)
	return &conn{Conn: c, node: testbed.Address(addr), of: of, passed: j.passed}, nil
}

// conn is a connection to a node. Its errors contain no addresses, since they go into histories. Its
// RemoteAddr is the node's address: a client that follows Sentinels closes connections to any address but
// the primary's.
type conn struct {
	net.Conn
	node   testbed.Address
	of     string // the connection's name among passed
	passed *passages

	writing sync.Mutex
	written int64
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return n, testbed.BareError(err)
}

// Write implements net.Conn. It returns when the bytes have passed to the node, or when the connection has ended:
// then reading tells how.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.Conn.Write(p)
	c.written += int64(n)
	if err == nil {
		c.passed.await(c.of, c.written)
	}
	return n, testbed.BareError(err)
}

// Close implements net.Conn. A Write that waits returns.
func (c *conn) Close() error {
	c.passed.close(c.of)
	return c.Conn.Close()
}

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return c.node }

// warmingTimeout limits the opening of connections. It is long enough for a busy machine.
const warmingTimeout = 30 * time.Second

// connect makes the client's connection pools and opens their connections.
func (j *joined) connect(ctx context.Context) error {
	if j.Cluster {
		return j.connectCluster(ctx)
	}
	var warm errgroup.Group
	add := func(r *redis.Client) {
		j.client.Nodes = append(j.client.Nodes, r)
		warm.Go(func() error { return warmUp(ctx, r) })
	}
	if len(j.Sentinels) > 0 {
		o := testbed.FailoverOptions(j.Primary, j.Sentinels, j.CommandTimeout)
		o.Dialer = j.dial
		r := redis.NewFailoverClient(o)
		j.client.Dial = r.Options().Dialer // asks the Sentinels
		add(r)
		return warm.Wait()
	}
	for _, addr := range j.Addrs {
		o := testbed.RedisOptions(addr, j.CommandTimeout)
		o.Dialer = j.dial
		add(redis.NewClient(o))
	}
	return warm.Wait()
}

// connectCluster is connect for a client of a Redis Cluster.
func (j *joined) connectCluster(ctx context.Context) error {
	o := testbed.ClusterOptions(j.Addrs, j.CommandTimeout)
	o.Dialer = j.dial
	r := redis.NewClusterClient(o)
	j.client.Nodes = append(j.client.Nodes, r)
	ctx, cancel := context.WithTimeout(ctx, warmingTimeout)
	defer cancel()
	var last error
	for { // until the client knows where the slots are
		err := r.ForEachMaster(ctx, warmUp)
		if err == nil {
			return r.ForEachShard(ctx, warmUp)
		}
		if last == nil || ctx.Err() == nil { // keep the last error that is not the context's own
			last = err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("learn the slots: %w, and before: %w", ctx.Err(), last)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func warmUp(ctx context.Context, r *redis.Client) error {
	return testbed.WarmUp(ctx, r.WithTimeout(warmingTimeout), testbed.WarmConnections) // WithTimeout shares the pool
}
