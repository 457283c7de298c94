package locktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// Results of Acquire, Release and Extend other than success. Wrapped ones count too. Any
// other error means that the outcome is unknown: the lock's commands may or may not have
// run.
var (
	// ErrBusy: Acquire certainly did not get the lock, because somebody else has it.
	ErrBusy = locks.ErrBusy
	// ErrNotHeld: Release or Extend found that the lock is certainly not the caller's any
	// more.
	ErrNotHeld = locks.ErrNotHeld
)

// Subject makes the lock under test for one client process: it builds the service's own
// Redis client from c, and returns the function that acquires the lock. It is called once
// for each client of each trial, often thousands of times, and must keep nothing in package
// variables. An error ends the trial.
type Subject func(c *Client) (Acquire, error)

// Acquire makes one attempt to acquire the lock named key, for a lease of ttl; with the option
// Blocking it waits for its turn. The error is nil if the caller holds the lock, ErrBusy if
// somebody else does, or any other error if the outcome is unknown. With an error only
// Held.Token is used, the value that was sent. Acquire may be called concurrently.
type Acquire func(ctx context.Context, key string, ttl time.Duration) (Held, error)

// Held is an acquired lock. All fields but Release are optional: a lock has what it has. The
// functions of one Held are called one after another, never at the same time; those of
// different ones may be called concurrently.
type Held struct {
	// Release gives the lock back. The error is nil, ErrNotHeld, or any other for an
	// unknown outcome.
	Release func(ctx context.Context) error
	// Extend prolongs the lease: it then lasts for the ttl of Acquire from now on. A lock
	// with Extend is tested with leases that are prolonged, in time and too late. The error
	// is nil, ErrNotHeld, or any other for an unknown outcome.
	Extend func(ctx context.Context) error
	// Until returns the instant until which the caller holds the lock, as the lock claims.
	// It is asked after each successful Acquire and Extend. Clients stop then. The instant is
	// one of time.Now or, with the option WallClock, of Client.Now; the zero time claims nothing.
	Until func() time.Time
	// Lost is closed when the lock learns that it lost its lease. Clients stop then. A client
	// that waits in another call, for example for a second lock, has been told. A frozen client
	// has not.
	Lost <-chan struct{}
	// Fence is the fencing token, greater than that of all earlier grants; 0 = none. The
	// guarded resource refuses a token that is smaller than one it has seen.
	Fence int64
	// Token is the value that identifies this grant in Redis; "" = unknown. It makes
	// stories easier to read.
	Token string
}

// Client is what a Subject knows of the client process that it is called for.
type Client struct {
	// ID is the process's name, different for each client of a trial: "c0".
	ID string
	// Addrs are the addresses of the Redis nodes: one, unless Nodes chose more. They mean
	// something to Dial only.
	Addrs []string
	// Dial connects to one of Addrs. The Redis client under test must use it for all
	// connections, without TLS. It has the signature of (*net.Dialer).DialContext.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Context ends with the client process. Background work that nobody stops uses it.
	Context context.Context
	// Now is the process's wall clock, which the fault client-skew sets wrong. Locks that
	// read it declare the option WallClock; time.Now is never wrong.
	Now func() time.Time
	// Rand has random bytes that depend on the trial's seed only. crypto/rand is seeded too
	// and, in the processes of Run, math/rand; math/rand/v2 cannot be.
	Rand io.Reader

	read  Acquire
	reads bool // Readers was called
}

// Cleanup calls f when the client process ends, in a goroutine of its own: f closes the
// Redis client. Clients with background goroutines that outlive their connections need it;
// others are faster with it. Several run concurrently, in no order.
func (c *Client) Cleanup(f func()) { context.AfterFunc(c.Context, f) }

// Readers makes the lock a read-write lock: acquire takes it for reading, beside other
// readers, and the Acquire that the Subject returns takes it for writing, alone. A Subject
// calls Readers for each client or for none, before it returns. For a read-write lock
// Held.Extend is not tested, nor are contexts that end while Acquire waits (Blocking).
func (c *Client) Readers(acquire Acquire) { c.read, c.reads = acquire, true }

// noPort is an invalid port, so that a client that does not use Dial fails at once. The hosts
// are from a documentation network (RFC 5737).
const noPort = 66379

// wrongAddress is in the error of Client.Dial for an address that is no node's.
const wrongAddress = "expected one of Client.Addrs"

// newClient returns the subject's view of a client process. Its addresses have invalid ports,
// so that a Redis client without Dial fails at once and reaches no real Redis. Their hosts
// are IP addresses, because go-redis resolves names, for which a bubble's clock does not
// advance.
func newClient(c *locks.Client) *Client {
	names := map[string]string{}
	v := &Client{ID: c.ID, Context: c.Context, Now: c.Now, Rand: c.Rand}
	for i, addr := range c.Addrs {
		name := fmt.Sprintf("192.0.2.%d:%d", i+1, noPort)
		v.Addrs, names[name] = append(v.Addrs, name), addr
	}
	v.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		known, ok := names[addr]
		if !ok {
			return nil, fmt.Errorf("dial %s %s: %s: %v", network, addr, wrongAddress, v.Addrs)
		}
		return c.Dial(ctx, network, known)
	}
	return v
}
