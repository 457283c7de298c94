package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Numbers of nodes.
const (
	independentNodes = 5 // the default
	// Replicas is the number of replicas in the topologies Replicated and Sentinel.
	Replicas = 2
	// Masters is the number of a cluster's masters, each with one replica.
	Masters = 3
)

// defaultTimeout is the default of Setup.CommandTimeout. It is shorter than go-redis's own, 5 s.
const defaultTimeout = 3 * time.Second

// Complete returns the setup with Nodes set for its topology and with the defaults of Durability
// and CommandTimeout, or an error that says what is wrong with the setup.
func (s Setup) Complete() (Setup, error) {
	switch s.Topology {
	case Single:
		s.Nodes = 1
	case Replicated, Sentinel:
		s.Nodes = 1 + Replicas
	case Cluster:
		s.Nodes = 2 * Masters
	case Independent:
		if s.Nodes == 0 {
			s.Nodes = independentNodes
		}
	default:
		return s, fmt.Errorf("topology %q: want %s, %s, %s, %s or %s", s.Topology, Single, Replicated, Independent, Sentinel, Cluster)
	}
	if s.Nodes < 1 || s.Clients < 1 {
		return s, fmt.Errorf("%d nodes and %d clients: want at least one of each", s.Nodes, s.Clients)
	}
	switch s.Durability {
	case "":
		s.Durability = Volatile
	case Volatile, EverySec, Always:
	default:
		return s, fmt.Errorf("durability %q: want %s, %s or %s", s.Durability, Volatile, EverySec, Always)
	}
	if s.CommandTimeout == 0 {
		s.CommandTimeout = defaultTimeout
	}
	if s.Clock == nil || s.Commands == nil {
		return s, errors.New("setup without a clock or a receiver of commands")
	}
	return s, nil
}

// dialTimeout is the minimum timeout of a dial; it is go-redis's default. A shorter timeout
// would only make dials fail on a loaded machine.
const dialTimeout = 5 * time.Second

// PoolSize bounds the connections of one client to one node. It is large for two reasons. After
// PoolSize failed dials, go-redis dials only once a second until a dial succeeds. And waiting for a
// connection takes a timer from a pool that bubbles of testing/synctest must not share. The
// simulation lets a command into go-redis only while fewer than PoolSize commands and dials are
// under way.
const PoolSize = 512

// connBuffer is the size of a connection's read buffer and of its write buffer. go-redis's
// default is 32 KB, but commands of locks are short, and there may be a thousand clients.
const connBuffer = 4 << 10

func init() { redis.SetLogger(silent{}) } // trials break connections on purpose

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// universal returns options for a go-redis client that sends only what the recipe asks for, and
// one HELLO per connection: no retries, no other commands of its own. Timeout is for reads and
// writes; dials have at least dialTimeout.
func universal(timeout time.Duration, addrs ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: addrs, Protocol: 2, DisableIdentity: true,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: max(timeout, dialTimeout), ReadTimeout: timeout, WriteTimeout: timeout,
		PoolSize: PoolSize, PipelinePoolSize: -1,
		ReadBufferSize: connBuffer, WriteBufferSize: connBuffer,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// RedisOptions returns options for a go-redis client of one node that sends only what the recipe asks
// for, and one HELLO per connection. Timeout is for reads and writes; dials have at least dialTimeout.
func RedisOptions(addr string, timeout time.Duration) *redis.Options {
	return universal(timeout, addr).Simple()
}

// FailoverOptions returns RedisOptions for a client that asks the Sentinels for the address
// of the primary with this name.
func FailoverOptions(primary string, sentinels []string, timeout time.Duration) *redis.FailoverOptions {
	o := universal(timeout, sentinels...).Failover()
	o.MasterName = primary
	// The client asks Sentinels in the course of a dial. If the dial times out before the
	// client gives up on a silent Sentinel, every later dial asks the same Sentinel again.
	o.DialTimeout = max(o.DialTimeout, 3*timeout)
	return o
}

// Address is the address by which clients know a node or a Sentinel: the RemoteAddr of a
// connection to it. A client that uses Sentinels closes a connection whose RemoteAddr is
// not the address that the Sentinels give for the primary.
type Address string

// Network implements net.Addr.
func (Address) Network() string { return "tcp" }

// String implements net.Addr.
func (a Address) String() string { return string(a) }

// NewRandom returns a client's random source, safe for concurrent use. Trial is the trial's
// seed. The same seed and client give the same bytes.
func NewRandom(trial uint64, client int) io.Reader {
	rng := rand.New(rand.NewPCG(trial, uint64(client)))
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rng.Uint32())
	}
	return &source{rng: rand.NewChaCha8(seed)}
}

type source struct {
	mu  sync.Mutex
	rng *rand.ChaCha8
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.Read(p)
}
