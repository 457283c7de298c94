package locks

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// Client is a recipe's view of one client process. All handles of the process share it.
type Client struct {
	// ID identifies the client process among all others ("c0"). Recipes that need an owner id
	// derive it from ID and Token.
	ID string
	// Nodes holds one connection pool per Redis node, in a fixed order. A pool is a *redis.Client,
	// which follows the primary if Sentinel or an operator moves it. A cluster is one
	// *redis.ClusterClient. Recipes for a single node use Nodes[0].
	Nodes []Node
	// Addrs are the nodes' addresses, in the order of Nodes. Dial connects to them. Both are for
	// libraries that build their own Redis clients.
	Addrs []string
	Dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	// Watch tells whether the node at one of Addrs is up: it calls changed at once, and again whenever a
	// fault kills or restarts the node, until the client's end. A node that is down refuses connections. Calls
	// of changed do not overlap; changed must return soon. Nil = every node is always up.
	Watch func(addr string, changed func(up bool))
	// Now is the client's wall clock, which may be skewed. Never nil.
	Now func() time.Time
	// Rand is the source of tokens; safe for concurrent use. Never nil.
	Rand io.Reader
	// Context ends with the client process. Watchdogs use this context, never the context of the
	// acquiring call.
	Context context.Context
	// Adopt tells the testbed of a process that runs the client's code. From then on the process is frozen
	// and killed with the client. Nil = the testbed does neither.
	Adopt func(Process)
	// Prefix begins the names of all locks (Recipe.Bind): on a Redis that others use, it tells them from
	// other keys.
	Prefix string
}

// Process is an operating system's process that runs a client's code. Freeze, Thaw and Kill return at once.
// All methods may be called in any order, also after the process has ended.
type Process interface {
	Freeze()
	Thaw()
	Kill()
	// Skew sets the lead of the client's wall clock, for code that has no other way to read it.
	Skew(offset time.Duration)
	// End kills the process, waits for its end, and returns what it wrote on its standard error. Of a long
	// text, End returns the beginning and the end. The trial calls End after the client's Context has ended.
	End() (stderr string)
}

// Node is a connection pool of go-redis, with most methods of redis.UniversalClient. For the others,
// such as Subscribe, assert redis.UniversalClient: each Node of a Client is one. Node avoids that type
// because the compiler generates 1,500 methods in every package that reaches *redis.Client.
type Node interface {
	redis.Cmdable
	Do(ctx context.Context, args ...any) *redis.Cmd
	Process(ctx context.Context, cmd redis.Cmder) error
	AddHook(redis.Hook)
	Close() error
}

// Topology is the arrangement of Redis nodes that a recipe needs.
type Topology string

// Topologies that recipes need. A fault may need more, such as a replica.
const (
	Single      Topology = "single"      // one node
	Replicated  Topology = "replicated"  // a primary with replicas; clients talk to the primary only
	Independent Topology = "independent" // N nodes that know nothing of each other
)

// Maker returns a client's handle on the lock named key. The ttl is the lease time; recipes that
// count in whole seconds round it up. For an empty key or a ttl below 1 ms a Maker returns an error.
type Maker func(key string, ttl time.Duration) (Lock, error)

// Kind distinguishes a recipe's own mistake from a limit of all such locks.
type Kind string

// Kinds of flaws.
const (
	// Bug: the flaw breaks a claim of the document or library, or a property that the recipe's own
	// commands could have kept.
	Bug Kind = "bug"
	// Limit: no lease on this topology can prevent the violation by itself.
	Limit Kind = "limit"
)

// Flaw is a declared weakness of a recipe, as data. Oracle and Cause are names of package checker,
// such as "exclusion" and "lease-outlived". The faults are names of package nemesis, such as
// "client-pause".
type Flaw struct {
	Oracle string
	Cause  string
	Kind   Kind
	Why    string // why the flaw exists, in one sentence
	Source string // document and section, paper or Redis page
	// Faults lists the faults that must show the flaw: every complete run on a deterministic testbed
	// finds the flaw under each of them, except under chaos, which combines faults at random.
	Faults []string
	// Also lists faults under which the flaw may show by chance.
	Also []string
}

// Recipe is one way to build a lock on Redis, as data plus a constructor.
type Recipe struct {
	ID string // "set-nx-px"
	// Document is a list of Document.IDs, such as "D0, D2, D3". For a library it is the address of
	// the documentation; "" = there is no document.
	Document string
	// Library is the import path of the library that the recipe uses unmodified; "" = the recipe
	// has its own code. "lockstorm run --locks all" leaves out recipes with a Library.
	Library string
	// Own: the lock is a user's, not one of this repository. It runs the standard workloads and
	// those that its claims require. lockstorm.Main and locktest.Recipe set Own; Main leaves it
	// false for a recipe with a Library.
	Own bool
	// Apart: New starts a process that runs the lock, so that clients need none of their own.
	Apart    bool
	Summary  string // acquire, release and renewal in one line
	Topology Topology
	// Claims returns what the recipe promises for a lease time and a number of nodes.
	Claims func(ttl time.Duration, nodes int) history.Claims
	Flaws  []Flaw
	// Unrenewed is the id of the most similar recipe that does not renew its lease, so that reports
	// can compare the two; "" = there is none.
	Unrenewed string
	// New binds the recipe to a client process. State that the recipe keeps per client, across
	// keys, lives in the returned Maker.
	New func(*Client) (Maker, error)
}

// Bind returns New's Maker, for names that begin with the client's Prefix.
func (r Recipe) Bind(c *Client) (Maker, error) {
	maker, err := r.New(c)
	if err != nil || c.Prefix == "" {
		return maker, err
	}
	return func(key string, ttl time.Duration) (Lock, error) { return maker(c.Prefix+key, ttl) }, nil
}

// Documents returns the ids in Document, such as "D0" and "D2"; none if Document is "".
func (r Recipe) Documents() []string {
	if r.Document == "" {
		return nil
	}
	return strings.Split(r.Document, ", ")
}

// Declares returns the recipe's flaw for (oracle, cause) that must or may show under the fault, and
// whether there is one.
func (r Recipe) Declares(oracle, cause, fault string) (Flaw, bool) {
	i := slices.IndexFunc(r.Flaws, func(f Flaw) bool {
		return f.Oracle == oracle && f.Cause == cause && (slices.Contains(f.Faults, fault) || slices.Contains(f.Also, fault))
	})
	if i < 0 {
		return Flaw{}, false
	}
	return r.Flaws[i], true
}

// registry holds the recipes by id. The functions that use it are safe for concurrent use.
var registry = struct {
	sync.RWMutex
	recipes map[string]Recipe
}{recipes: map[string]Recipe{}}

// Register adds a recipe. Each recipe file of this package calls Register from init. Register panics
// if two recipes have the same id.
func Register(r Recipe) {
	registry.Lock()
	defer registry.Unlock()
	if _, ok := registry.recipes[r.ID]; ok {
		panic("locks: recipe registered twice: " + r.ID)
	}
	registry.recipes[r.ID] = r
}

// Unregister removes the recipe with this id, if there is one. No trial of the recipe may be
// running.
func Unregister(id string) {
	registry.Lock()
	defer registry.Unlock()
	delete(registry.recipes, id)
}

// All returns every recipe, sorted by id.
func All() []Recipe {
	registry.RLock()
	defer registry.RUnlock()
	all := make([]Recipe, 0, len(registry.recipes))
	for _, r := range registry.recipes {
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

// ByID returns the recipe with this id, and whether there is one.
func ByID(id string) (Recipe, bool) {
	registry.RLock()
	defer registry.RUnlock()
	r, ok := registry.recipes[id]
	return r, ok
}

// Token draws 16 bytes from Rand and returns them in hex. Each call returns another token.
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

// checkMake checks the arguments of a Maker.
func checkMake(key string, ttl time.Duration) error {
	switch {
	case key == "":
		return fmt.Errorf("lock name is empty")
	case ttl < time.Millisecond:
		return fmt.Errorf("lease time %v is below 1ms", ttl)
	}
	return nil
}
