package locktest

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// Results of Acquire, Release and Extend other than success. Errors that wrap them count too. Any
// other error means that the outcome is unknown: the lock's commands may or may not have run.
var (
	// ErrBusy: Acquire certainly did not get the lock, because somebody else has it.
	ErrBusy = locks.ErrBusy
	// ErrNotHeld: Release or Extend found that the caller certainly no longer holds the lock.
	ErrNotHeld = locks.ErrNotHeld
)

// Subject makes the lock under test for one client process. It builds the service's own Redis
// client from c, and returns the function that acquires the lock. The test calls the Subject once
// for each client of each trial, often thousands of times. So the Subject must keep nothing in
// package variables. An error ends the trial.
type Subject func(c *Client) (Acquire, error)

// Acquire makes one attempt to acquire the lock named key, for a lease of ttl. With the option
// Blocking it waits for its turn. The error is nil if the caller holds the lock, ErrBusy if
// somebody else holds it, or any other error if the outcome is unknown. With an error the test uses
// only Held.Token, the value that Acquire sent. Acquire may be called concurrently.
type Acquire func(ctx context.Context, key string, ttl time.Duration) (Held, error)

// Held is an acquired lock. All fields but Release are optional: a lock sets the fields that it
// supports. The test calls the functions of one Held one after another, never at the same time. It
// may call the functions of different Helds concurrently.
type Held struct {
	// Release releases the lock. The error is nil, ErrNotHeld, or any other error if the outcome is
	// unknown.
	Release func(ctx context.Context) error
	// Extend prolongs the lease: it then lasts for the ttl of Acquire from now on. If a lock has
	// Extend, the test prolongs some leases before they end and others after they ended. The error
	// is nil, ErrNotHeld, or any other error if the outcome is unknown.
	Extend func(ctx context.Context) error
	// Until returns the claimed end of the caller's hold. The test calls Until after each
	// successful Acquire and Extend, and the client stops at that instant. An instant computed
	// from one of Client.Now, by Time.Add and the like, is of that clock. Any other instant is of
	// time.Now, or with the option WallClock and without Monotonic, of Client.Now. The zero time
	// claims nothing.
	Until func() time.Time
	// Lost is closed when the lock learns that it lost its lease. The client then stops. A client
	// that waits in another call, for example for a second lock, counts as informed. A frozen
	// client does not.
	Lost <-chan struct{}
	// Fence is the fencing token, greater than that of all earlier grants; 0 = none. The guarded
	// resource refuses a token that is smaller than one that it has seen.
	Fence int64
	// Token is the value that identifies this grant in Redis; "" = unknown. The token makes stories
	// easier to read.
	Token string
}

// Client is a Subject's view of one client process.
type Client struct {
	// ID is the process's name, different for each client of a trial: "c0".
	ID string
	// Addrs are the addresses of the Redis nodes: one address, unless the option Nodes asks for
	// more. Only Dial understands these addresses.
	Addrs []string
	// Dial connects to one of Addrs. The Redis client under test must use it for all
	// connections, without TLS. It has the signature of (*net.Dialer).DialContext.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Context ends with the client process. Background work that nothing else stops, such as a
	// watchdog, has to stop when Context ends.
	Context context.Context
	// Now is the process's wall clock. The fault client-skew sets this clock wrong; time.Now is
	// never wrong. Locks that read Now declare the option WallClock. Its instants
	// have no monotonic reading, and a time zone of their own, which is UTC.
	Now func() time.Time
	// Rand has random bytes that depend only on the trial's seed. crypto/rand draws from that seed
	// too. math/rand does so in the processes of Run; in Check and Recipe it does so only under
	// GODEBUG=randseednop=0. math/rand/v2 cannot be seeded.
	Rand io.Reader

	read  Acquire
	reads bool // Readers was called
	of    *locks.Client
}

// Cleanup calls f when the client process ends, in a goroutine of its own. Use f to close the Redis
// client. A Redis client needs Cleanup if its background goroutines outlive its connections. With
// other Redis clients Cleanup makes trials faster. Several such functions run concurrently, in no
// order.
func (c *Client) Cleanup(f func()) { context.AfterFunc(c.Context, f) }

// Readers makes the lock a read-write lock. The function acquire takes the lock for reading, beside
// other readers. The Acquire that the Subject returns takes the lock for writing, alone. A Subject
// calls Readers for all clients or for none, before it returns. For a read-write lock the test
// covers neither Held.Extend nor contexts that end while Acquire waits (Blocking).
func (c *Client) Readers(acquire Acquire) { c.read, c.reads = acquire, true }

// noPort is an invalid port, so a client that does not use Dial fails at once. The hosts of
// Client.Addrs are from a documentation network (RFC 5737).
const noPort = 66379

// wrongAddress is part of the error of Client.Dial for an address that is not in Client.Addrs.
const wrongAddress = "expected one of Client.Addrs"

// wallZone is the time zone of Client.Now. It tells the instants of that clock from others.
var wallZone = time.FixedZone("UTC", 0)

// newClient returns the subject's view of a client process. Its addresses have invalid ports, so a
// Redis client without Dial fails at once and reaches no real Redis. The hosts are IP addresses,
// because go-redis resolves names, and a bubble's clock stands still during name resolution.
func newClient(c *locks.Client) *Client {
	names := map[string]string{}
	v := &Client{ID: c.ID, Context: c.Context, Rand: c.Rand, of: c}
	v.Now = func() time.Time { return c.Now().In(wallZone) }
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
