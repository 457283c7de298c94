package locks

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// Client is one client process as recipes see it. All handles of the process share it.
type Client struct {
	// ID identifies the client process among all others ("c0"); recipes that
	// need an owner id derive it from this and Token.
	ID string
	// Nodes holds one connection pool per Redis node, in a fixed order: a
	// *redis.Client, which follows the primary if Sentinel or an operator moves it. A
	// cluster is one *redis.ClusterClient. Recipes for a single node use Nodes[0].
	Nodes []redis.UniversalClient
	// Addrs are the nodes' addresses and Dial reaches them, for libraries that
	// build their own clients.
	Addrs []string
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	// Now is the client's wall clock, which may be skewed. Never nil.
	Now func() time.Time
	// Rand is the source of tokens; safe for concurrent use. Never nil.
	Rand io.Reader
	// Context lives as long as the client process: watchdogs run on it, never
	// on an acquiring call's context.
	Context context.Context
}

// Topology is what a recipe needs of Redis.
type Topology string

// Topologies that recipes ask for. A fault may ask for more (a replica).
const (
	Single      Topology = "single"      // one node
	Replicated  Topology = "replicated"  // a primary with replicas; clients talk to the primary only
	Independent Topology = "independent" // N nodes that know nothing of each other
)

// Maker makes a client's handle on the lock named key. The ttl is the lease
// time; recipes that count in whole seconds round it up. It returns an error
// for an empty key or a ttl below 1 ms.
type Maker func(key string, ttl time.Duration) (Lock, error)

// Kind tells a recipe's own mistake from a limit of all such locks.
type Kind string

// Kinds of flaws.
const (
	// Bug: breaks a claim of the document or library, or a property that the recipe's
	// own commands could have kept.
	Bug Kind = "bug"
	// Limit: no lease on this topology can promise it by itself.
	Limit Kind = "limit"
)

// Flaw is a declared weakness of a recipe, as data: strings are names in the
// registries of oracles, causes and faults, checked by a test.
type Flaw struct {
	Oracle string
	Cause  string
	Kind   Kind
	Why    string // one sentence
	Source string // document and section, paper or Redis page
	// Faults under which it must be found: Why gives the argument, and every complete
	// run on a deterministic testbed finds it.
	Faults []string
	// Also are faults under which it may show, if chance adds to the fault's effects.
	Also []string
}

// Recipe is one way to build a lock on Redis, as data plus a constructor.
type Recipe struct {
	ID       string // "set-nx-px"
	Document string // "D0, D2, D3", by Document.ID
	Summary  string // acquire, release and renewal in one line
	Topology Topology
	// Claims returns what the recipe promises for a lease time and a number of nodes.
	Claims func(ttl time.Duration, nodes int) history.Claims
	Flaws  []Flaw
	// New binds the recipe to a client process. State that the recipe keeps per
	// client, across keys, lives in the returned Maker.
	New func(*Client) (Maker, error)
}

// Declares finds the flaw that the recipe declares for (oracle, cause) under a fault,
// whether it must or may show there.
func (r Recipe) Declares(oracle, cause, fault string) (Flaw, bool) {
	i := slices.IndexFunc(r.Flaws, func(f Flaw) bool {
		return f.Oracle == oracle && f.Cause == cause && (slices.Contains(f.Faults, fault) || slices.Contains(f.Also, fault))
	})
	if i < 0 {
		return Flaw{}, false
	}
	return r.Flaws[i], true
}

var registry = map[string]Recipe{}

// Register adds a recipe; each recipe's file calls it from init. Two recipes of
// one id are a programming error.
func Register(r Recipe) {
	if _, ok := registry[r.ID]; ok {
		panic("locks: recipe registered twice: " + r.ID)
	}
	registry[r.ID] = r
}

// All returns every recipe, sorted by id.
func All() []Recipe {
	all := make([]Recipe, 0, len(registry))
	for _, r := range registry {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b Recipe) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return all
}

// ByID returns the recipe of that id.
func ByID(id string) (Recipe, bool) {
	r, ok := registry[id]
	return r, ok
}

// Token returns 16 random bytes in hex, unique to one attempt.
func (c *Client) Token() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(c.Rand, b[:]); err != nil {
		return "", fmt.Errorf("draw a lock token: %w", err)
	}
	return fmt.Sprintf("%x", b), nil
}

// seconds rounds a lease time up to the whole seconds of EX and EXPIRE.
func seconds(ttl time.Duration) int64 {
	return int64((ttl + time.Second - 1) / time.Second)
}

// checkMake is the common argument check of Makers.
func checkMake(key string, ttl time.Duration) error {
	switch {
	case key == "":
		return fmt.Errorf("lock name is empty")
	case ttl < time.Millisecond:
		return fmt.Errorf("lease time %v is below 1ms", ttl)
	}
	return nil
}
