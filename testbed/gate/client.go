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

// Client is a client process behind a gate, with a wall clock that can be
// wrong. It implements testbed.Client and is safe for concurrent use once all its nodes
// are reached.
type Client struct {
	gate  *Gate
	id    int
	locks *locks.Client
	pools []*redis.Client
	dials []func(context.Context) (net.Conn, error) // in the order of locks.Nodes
	ways  testbed.Ways
	// exactly makes connections by the addresses that nodes and Sentinels announce;
	// nil = the client reaches its nodes without Sentinels.
	exactly func(ctx context.Context, addr string) (net.Conn, error)
	end     context.CancelFunc
	skew    atomic.Int64 // nanoseconds by which its wall clock is ahead
}

var _ testbed.Client = (*Client)(nil)

// NewClient returns client id of the trial with that seed. It lives until
// ctx ends, or End is called.
func NewClient(ctx context.Context, g *Gate, trial uint64, id int) *Client {
	c := &Client{gate: g, id: id}
	ctx, c.end = context.WithCancel(ctx)
	c.locks = &locks.Client{
		ID: fmt.Sprintf("c%d", id), Dial: c.dial, Now: c.now, Context: ctx, Rand: testbed.NewRandom(trial, id),
	}
	return c
}

// Reach gives the client a node, the next in the order of locks.Client.Nodes: o.Addr is
// its address and dial makes connections to it, through the gate. The rest of o is for
// the returned go-redis client, which the caller has to close.
func (c *Client) Reach(o *redis.Options, dial func(context.Context) (net.Conn, error)) *redis.Client {
	return c.ReachApart(o, dial, dial)
}

// ReachApart is Reach with a dialler of their own, theirs, for libraries that build their
// own clients and call locks.Client.Dial.
func (c *Client) ReachApart(o *redis.Options, dial, theirs func(context.Context) (net.Conn, error)) *redis.Client {
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	r := redis.NewClient(o)
	c.dials = append(c.dials, theirs)
	c.locks.Addrs = append(c.locks.Addrs, o.Addr)
	c.locks.Nodes, c.pools = append(c.locks.Nodes, r), append(c.pools, r)
	return r
}

// ReachSentinel gives the client the one node that Sentinels call the primary, whichever
// that is: dial makes connections to them and to the nodes by the addresses that they
// announce, through the gate, and its connections' RemoteAddr is that address. Dialling
// addr, locks.Client.Addrs, reaches the primary as well. The caller has to close the
// returned client.
func (c *Client) ReachSentinel(o *redis.FailoverOptions, addr string,
	dial func(ctx context.Context, addr string) (net.Conn, error)) *redis.Client {
	o.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }
	c.ways.Primary, c.ways.Sentinels, c.exactly = o.MasterName, o.SentinelAddrs, dial
	r := redis.NewFailoverClient(o)
	c.dials = append(c.dials, func(ctx context.Context) (net.Conn, error) {
		return r.Options().Dialer(ctx, "tcp", addr) // asks the Sentinels
	})
	c.locks.Addrs = append(c.locks.Addrs, addr)
	c.locks.Nodes, c.pools = append(c.locks.Nodes, r), append(c.pools, r)
	return r
}

// ReachCluster gives the client a cluster, whose nodes announce the addresses o.Addrs;
// dial makes connections to them, through the gate. The caller has to close the returned
// client.
func (c *Client) ReachCluster(o *redis.ClusterOptions, dial func(ctx context.Context, addr string) (net.Conn, error)) *redis.ClusterClient {
	o.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) }
	c.ways.Cluster = true
	r := redis.NewClusterClient(o)
	for _, addr := range o.Addrs {
		c.dials = append(c.dials, func(ctx context.Context) (net.Conn, error) { return dial(ctx, addr) })
		c.locks.Addrs = append(c.locks.Addrs, addr)
	}
	c.locks.Nodes = append(c.locks.Nodes, r)
	return r
}

// Pools are what Reach returned, in the order of locks.Client.Nodes.
func (c *Client) Pools() []*redis.Client { return c.pools }

// End ends the context on which the client's watchdogs run.
func (c *Client) End() { c.end() }

// Skew sets by how much the client's wall clock is ahead (behind, if negative).
func (c *Client) Skew(offset time.Duration) {
	c.skew.Store(int64(offset))
	if c.gate.outside() {
		c.gate.processes.Skew(c.id, offset)
	}
}

// dial is locks.Client.Dial: it reaches the nodes by the addresses that the
// client knows.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	for i, known := range c.locks.Addrs {
		if known == addr {
			return c.dials[i](ctx)
		}
	}
	return nil, fmt.Errorf("dial %s %s: c%d has no link to it", network, addr, c.id)
}

// now is the client's wall clock. It has no monotonic part that would betray the
// skew.
func (c *Client) now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.skew.Load()))
}

// Locks implements testbed.Client.
func (c *Client) Locks() *locks.Client { return c.locks }

// Step implements testbed.Client.
func (c *Client) Step(ctx context.Context, name string) error {
	return c.gate.Step(ctx, c.id, name)
}

// Open implements testbed.Client.
func (c *Client) Open(op int) { c.gate.Open(c.id, op) }
