package live

import (
	"context"
	"net"

	"github.com/lockstorm/lockstorm/testbed"
)

// Provider knows where Redis servers come from.
type Provider interface {
	// Name is the testbed's: "process", "container".
	Name() string
	// Open prepares a place for the servers of one trial. Trials may run at the
	// same time, each in a place of its own.
	Open(ctx context.Context) (Place, error)
}

// Guest is a Provider whose servers belong to somebody else. Worlds of them can
// disturb clients and the links to the servers, not the servers.
type Guest interface {
	Provider
	// Topologies that its servers can be taken for.
	Topologies() []testbed.Topology
}

// Clockmaker is a provider that can start servers with wall clocks of their own:
// it obeys ServerOptions.Clock.
type Clockmaker interface {
	Provider
	// Clocks says in one line why it cannot on this machine, and how it could; nil
	// if it can.
	Clocks() error
}

// Place is where the servers of one trial run. Its methods may be called
// concurrently.
type Place interface {
	// Start starts a server and returns when it accepts connections. It is
	// killed when ctx ends, and it must not outlive this program, however that
	// ends.
	Start(ctx context.Context, o ServerOptions) (Server, error)
	// Doors is the IPv4 address on which this program has to listen for its
	// servers to reach it.
	Doors() string
	// Close ends what the place is made of. All servers have been closed.
	Close() error
}

// Hosted is a Place whose servers may know this machine by a name of its own.
type Hosted interface {
	Place
	// Host is by what name servers reach what listens at Doors; "" = by that address.
	Host() string
}

// Housed is a Place whose servers have directories of their own, whoever uses them.
type Housed interface {
	Place
	// Dir is the ServerOptions.Dir of the node of that name, "" if there is none.
	Dir(node string) string
}

// ServerOptions of a server that is to be started.
type ServerOptions struct {
	Name string // the node's, "n0"
	// Dir is a directory of this machine, the server's working directory, to
	// which its files go; it is created if missing and survives the server.
	Dir string
	// Log is a file to which the server's log is appended; "" = not kept.
	Log string
	// Args are options of redis.conf, as "--appendonly", "yes".
	Args []string
	// Sentinel: it is a Sentinel, not a Redis server. Its configuration file, which
	// it rewrites, is sentinel.conf in Dir, written by the caller.
	Sentinel bool
	// Clock is a file of this machine, a clockshim.Clock's, by which the server's
	// wall clock goes; "" = by the machine's. Only Clockmakers are given one.
	Clock string
	// Before is the server that ran here before and was killed; nil = none. The
	// new one keeps its address for other servers.
	Before Server
}

// Server is one running redis-server. Its methods may be called concurrently.
type Server interface {
	// Addr is where this program reaches it, as "host:port".
	Addr() string
	// Pause freezes it and returns when it is frozen.
	Pause() error
	// Resume lets a paused one go on.
	Resume() error
	// Kill ends it as SIGKILL does, and waits for its end. Its files stay.
	Kill() error
	// Close kills it, if it still runs, and frees what it used but its files. It
	// may be called twice.
	Close() error
	// Exited is closed when it has ended, asked or unasked.
	Exited() <-chan struct{}
	// Err says how it ended, with the last line of its log; nil while it runs.
	Err() error
}

// Remote is a Server that is reached in a way of its own, and belongs to somebody
// else. Exited is closed when it can no longer be taken for the one that it was.
type Remote interface {
	Server
	// Dial makes a connection that is ready for commands.
	Dial(ctx context.Context) (net.Conn, error)
	// Names are the keys that the trial may have left on it.
	Names() []string
}
