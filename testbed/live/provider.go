package live

import (
	"context"
	"net"

	"github.com/lockstorm/lockstorm/testbed"
)

// Provider supplies Redis servers.
type Provider interface {
	// Name returns the testbed's name: "process", "container".
	Name() string
	// Open prepares a place for the servers of one trial. Trials may run concurrently, each
	// in a place of its own.
	Open(ctx context.Context) (Place, error)
}

// Guest is a Provider whose servers belong to somebody else. Its worlds can disturb
// clients and links, but not servers.
type Guest interface {
	Provider
	// Topologies returns the topologies in which the servers can be used.
	Topologies() []testbed.Topology
}

// Clockmaker is a Provider that can start servers with wall clocks of their own. Its places obey
// ServerOptions.Clock.
type Clockmaker interface {
	Provider
	// Clocks returns nil if such servers can run on this machine. Otherwise it returns a one-line
	// error that says why not, and how to make it possible.
	Clocks() error
}

// Place is where the servers of one trial run. Its methods may be called concurrently.
type Place interface {
	// Start starts a server and returns when the server accepts connections. The server is killed
	// when ctx ends, and never outlives this program, however the program ends.
	Start(ctx context.Context, o ServerOptions) (Server, error)
	// Listen returns the IPv4 address on which this program must listen so that servers can reach it, and the host
	// name, or again the address, by which they do.
	Listen() (ip, host string)
	// Close frees the place's resources. The caller has closed all servers before.
	Close() error
}

// Shared is a Place on servers that others use, too.
type Shared interface {
	Place
	// Prefix returns the beginning of the names of the trial's locks, which nobody else has.
	Prefix() string
}

// Housed is a Place that determines its servers' directories.
type Housed interface {
	Place
	// Dir returns the ServerOptions.Dir for the node with that name; "" = no such node.
	Dir(node string) string
}

// ServerOptions describe a server to be started.
type ServerOptions struct {
	Name string // the node's name, "n0"
	// Dir is the server's working directory, on this machine; it is created if missing
	// and survives the server.
	Dir string
	// Log is the file to which the server's log is appended; "" = the log is not kept.
	Log string
	// Args are options of redis.conf, each as "--name" followed by its value.
	Args []string
	// Sentinel: start a Sentinel, not a Redis server. The caller has written the Sentinel's
	// configuration file, sentinel.conf in Dir. The Sentinel rewrites this file.
	Sentinel bool
	// Clock is the file, on this machine, of the clockshim.Clock that the server's wall clock
	// follows; "" = the machine's clock. Only Clockmakers get a Clock.
	Clock string
	// Before is the node's previous server, which was killed; nil = none.
	Before Server
}

// Server is one running redis-server. Its methods may be called concurrently.
type Server interface {
	// Addr returns the address by which this program reaches the server, as "host:port".
	Addr() string
	// Pause freezes the server and returns when it is frozen.
	Pause() error
	// Resume lets a paused server go on.
	Resume() error
	// Kill ends the server as SIGKILL does, and waits until it has ended. The server's files stay.
	Kill() error
	// Close kills a server that still runs, and frees its resources, except its files. Close may be
	// called twice.
	Close() error
	// Exited returns a channel that is closed when the server has ended, for whatever reason.
	Exited() <-chan struct{}
	// Err returns how the server ended, with the last line of its log; nil while the server runs.
	Err() error
}

// Remote is a Server that belongs to somebody else. Callers connect with Dial, not to Addr. The
// channel of Exited is closed when another server may have replaced this server.
type Remote interface {
	Server
	// Dial makes a connection that is ready for commands.
	Dial(ctx context.Context) (net.Conn, error)
	// Clean removes the trial's keys, among them those of these names whose names have the Prefix of the
	// place. The caller has closed all connections before. The error says how to find keys that may remain.
	Clean(names []string) error
}
