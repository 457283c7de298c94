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

// Guest is a Provider whose servers belong to somebody else. Its worlds can disturb
// clients and links, but not servers.
type Guest interface {
	Provider
	// Topologies are those in which its servers can be used.
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
	// Start starts a server and returns when it accepts connections. The server is killed
	// when ctx ends, and must not outlive this program, however the program ends.
	Start(ctx context.Context, o ServerOptions) (Server, error)
	// Doors is the IPv4 address on which this program must listen for servers to reach
	// it.
	Doors() string
	// Close frees what the place uses. All servers have been closed.
	Close() error
}

// Hosted is a Place whose servers may reach this machine by a host name.
type Hosted interface {
	Place
	// Host is the host name for listeners at Doors; "" = the address itself.
	Host() string
}

// Housed is a Place that determines its servers' directories.
type Housed interface {
	Place
	// Dir is the ServerOptions.Dir of the node of that name, "" if there is none.
	Dir(node string) string
}

// ServerOptions of a server that is to be started.
type ServerOptions struct {
	Name string // the node's, "n0"
	// Dir is the server's working directory, on this machine; it is created if missing
	// and survives the server.
	Dir string
	// Log is a file to which the server's log is appended; "" = not kept.
	Log string
	// Args are options of redis.conf, as "--appendonly", "yes".
	Args []string
	// Sentinel: it is a Sentinel, not a Redis server. Its configuration file, which
	// it rewrites, is sentinel.conf in Dir, written by the caller.
	Sentinel bool
	// Clock is the file of the clockshim.Clock, on this machine, that the server's wall
	// clock follows; "" = the machine's clock. Only Clockmakers are given one.
	Clock string
	// Before is the server that ran here before and was killed; nil = none. The new
	// server keeps its address for other servers.
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
	// Close kills it, if it still runs, and frees what it used, except its files. It may
	// be called twice.
	Close() error
	// Exited is closed when it has ended, asked or unasked.
	Exited() <-chan struct{}
	// Err says how it ended, with the last line of its log; nil while it runs.
	Err() error
}

// Remote is a Server that belongs to somebody else and is dialled by Dial. Exited is
// closed when it may no longer be the same server.
type Remote interface {
	Server
	// Dial makes a connection that is ready for commands.
	Dial(ctx context.Context) (net.Conn, error)
	// Names are the keys that the trial may have left on it.
	Names() []string
}
