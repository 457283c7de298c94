package gate

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Client is a client process behind a gate. Its wall clock can be skewed. Client implements
// testbed.Client. It is safe for concurrent use after the last call of a Reach method.
type Client struct {
	gate  *Gate
	id    int
	locks *locks.Client
	pools []*redis.Client
	dials []func(context.Context) (net.Conn, error) // in the order of locks.Client.Addrs
	route testbed.Route
	// exactly connects to an address that a node or a Sentinel announces; nil if the client
	// uses no Sentinels.
	exactly func(ctx context.Context, addr string) (net.Conn, error)
	end     context.CancelFunc
	skew    atomic.Int64 // the lead of the client's wall clock, in nanoseconds
}

var _ testbed.Client = (*Client)(nil)

// NewClient returns client id; trial is the trial's seed. The client's background context
// (locks.Client.Context) ends when ctx ends or End is called.
func NewClient(ctx context.Context, g *Gate, trial uint64, id int) *Client {
	c := &Client{gate: g, id: id}
	ctx, c.end = context.WithCancel(ctx)
	c.locks = &locks.Client{
		ID: fmt.Sprintf("c%d", id), Dial: c.dial, Now: c.now, Context: ctx, Rand: testbed.NewRandom(trial, id),
		Adopt: func(p locks.Process) { g.adopt(id, p, time.Duration(c.skew.Load())) },
	}
	return c
}

// Reach gives the client its next node, in the order of locks.Client.Nodes. The node's
// address is o.Addr; dial connects to the node through the gate. The caller has to close
// the returned go-redis client, which has the options o.
func (c *Client) Reach(o *redis.Options, dial func(context.Context) (net.Conn, error)) *redis.Client {
	return c.ReachApart(o, dial, dial)
}

// ReachApart is like Reach, but locks.Client.Dial connects with theirs instead of dial.
// Libraries that build their own Redis clients call locks.Client.Dial.
func (c *Client) ReachApart(o *redis.Options, dial, theirs func(context.Context) (net.Conn, error)) *redis.Client {
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	r := redis.NewClient(o)
	c.dials = append(c.dials, theirs)
	c.locks.Addrs = append(c.locks.Addrs, o.Addr)
	c.locks.Nodes, c.pools = append(c.locks.Nodes, r), append(c.pools, r)
	return r
}

// ReachSentinel gives the client one node: the primary that the Sentinels name. Dial
// connects through the gate to a Sentinel or a node, by the address that the Sentinel or the
// node announces; the connection's RemoteAddr is that address. Nodes are the addresses that nodes
// announce. In locks.Client.Addrs, the first stands for the primary. The caller has to close the returned
// client.
func (c *Client) ReachSentinel(o *redis.FailoverOptions, nodes []string,
	dial func(ctx context.Context, addr string) (net.Conn, error)) *redis.Client {
	o.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }
	addr := nodes[0]
	c.route.Primary, c.route.Sentinels, c.route.Nodes, c.exactly = o.MasterName, o.SentinelAddrs, nodes, dial
	r := redis.NewFailoverClient(o)
	c.dials = append(c.dials, func(ctx context.Context) (net.Conn, error) {
		return r.Options().Dialer(ctx, "tcp", addr) // asks the Sentinels
	})
	c.locks.Addrs = append(c.locks.Addrs, addr)
	c.locks.Nodes, c.pools = append(c.locks.Nodes, r), append(c.pools, r)
	return r
}

// ReachCluster gives the client a cluster, whose nodes announce the addresses o.Addrs; dial
// connects to them through the gate. The caller has to close the returned client.
func (c *Client) ReachCluster(o *redis.ClusterOptions, dial func(ctx context.Context, addr string) (net.Conn, error)) *redis.ClusterClient {
	o.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }
	c.route.Cluster = true
	r := redis.NewClusterClient(o)
	for _, addr := range o.Addrs {
		c.dials = append(c.dials, func(ctx context.Context) (net.Conn, error) { return dial(ctx, addr) })
		c.locks.Addrs = append(c.locks.Addrs, addr)
	}
	c.locks.Nodes = append(c.locks.Nodes, r)
	return r
}

// Pools returns the go-redis clients that Reach, ReachApart and ReachSentinel made, in the order of
// locks.Client.Nodes.
func (c *Client) Pools() []*redis.Client { return c.pools }

// End ends locks.Client.Context, the context of the client's watchdogs.
func (c *Client) End() { c.end() }

// Skew sets the lead of the client's wall clock. A negative offset makes the clock lag.
func (c *Client) Skew(offset time.Duration) {
	c.skew.Store(int64(offset))
	c.gate.skewed(c.id, offset)
}

// dial implements locks.Client.Dial for the addresses in locks.Client.Addrs.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for i, known := range c.locks.Addrs {
		if known == addr {
			return c.dials[i](ctx)
		}
	}
	return nil, fmt.Errorf("dial %s %s: c%d has no link to it", network, addr, c.id)
}

// now returns the time of the client's wall clock. The time has no monotonic reading, because
// a monotonic reading would ignore the skew.
func (c *Client) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.skew.Load()))
}

// Route returns how the client reaches its nodes.
func (c *Client) Route() testbed.Route {
	w := c.route
	w.Addrs, w.Prefix = c.locks.Addrs, c.locks.Prefix
	return w
}

// Connect connects the client through the gate to an address in Route. If the client uses
// Sentinels, the address is one that a node or a Sentinel announces.
func (c *Client) Connect(ctx context.Context, addr string) (net.Conn, error) {
	if c.exactly != nil {
		return c.exactly(ctx, addr)
	}
	return c.dial(ctx, "tcp", addr)
}

// Locks implements testbed.Client.
func (c *Client) Locks() *locks.Client { return c.locks }

// Step implements testbed.Client.
func (c *Client) Step(ctx context.Context, name string) error {
	return c.gate.Step(ctx, c.id, name)
}

// Work implements testbed.Client.
func (c *Client) Work(ctx context.Context) (prolonged <-chan struct{}, err error) {
	return c.gate.Work(ctx, c.id)
}

// Awake implements testbed.Client.
func (c *Client) Awake(ctx context.Context) error { return c.gate.Awake(ctx, c.id) }

// Open implements testbed.Client.
func (c *Client) Open(op int) { c.gate.Open(c.id, op) }
