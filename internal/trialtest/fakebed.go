package trialtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Recipes of the tests, with locks in memory: Sound excludes, Broken lets every client in, and
// Panicky panics.
const (
	Sound   = "test-sound"
	Broken  = "test-broken"
	Panicky = "test-panicky"
)

// conducts maps each recipe to a function that runs at each attempt to take its lock. If the
// function returns true, the lock is granted even if another client has it.
var conducts = map[string]func(l memoryLock) (broken bool){
	Sound:   func(memoryLock) bool { return false },
	Broken:  func(memoryLock) bool { return true },
	Panicky: func(memoryLock) bool { panic("boom") },
}

// Recipes returns the recipes of the locks in memory. A test registers each recipe with a New
// function of its own, which calls the recipe's New. The recipe then counts as
// code of a user's test.
func Recipes() []locks.Recipe {
	var all []locks.Recipe
	for id, conduct := range conducts {
		all = append(all, locks.Recipe{
			ID: id, Document: "tests", Summary: "in memory", Topology: locks.Single,
			Claims: func(ttl time.Duration, _ int) history.Claims {
				return history.Claims{Quorum: 1, TTL: ttl, Recovery: ttl}
			},
			New: func(c *locks.Client) (locks.Maker, error) {
				m := c.Context.Value(memoryKey{}).(*memory)
				return func(key string, _ time.Duration) (locks.Lock, error) {
					return memoryLock{m, key, c.ID, conduct}, nil
				}, nil
			},
		})
	}
	return all
}

// memory is the content of a Bed's nodes: the owner of each key.
type memory struct {
	mu    sync.Mutex
	owner map[string]string
	asked func(client string) // logs a command of the client
}

type memoryKey struct{}

type memoryLock struct {
	*memory
	key, client string
	conduct     func(memoryLock) (broken bool)
}

func (l memoryLock) TryLock(ctx context.Context) (locks.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked(l.client)
	if broken := l.conduct(l); l.owner[l.key] != "" && !broken {
		return locks.Lease{}, locks.ErrBusy
	}
	l.owner[l.key] = l.client
	return locks.Lease{Token: l.client}, nil
}

func (l memoryLock) Unlock(context.Context, locks.Lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owner, l.key)
	return nil
}

// Bed is a testbed without Redis. It claims capabilities, but its Env can only list the node and
// its keys.
type Bed struct {
	// Fail may fail a trial before its body runs; nil = no trial fails.
	Fail func(s testbed.Setup) error
	Real bool // whether the bed claims to run on real time

	mu            sync.Mutex
	running, Most int
	Seeds         []uint64 // seeds of the trials, in the order of their starts
}

func (b *Bed) Name() string { return "fake" }
func (b *Bed) Capabilities() []testbed.Capability {
	return []testbed.Capability{testbed.CanNetwork, testbed.CanNodes, testbed.CanClocks, testbed.CanClients}
}

func (b *Bed) Clock() func() time.Duration {
	started := time.Now()
	return func() time.Duration { return time.Since(started) }
}

func (b *Bed) Topologies() []testbed.Topology { return []testbed.Topology{testbed.Single} }
func (b *Bed) RealTime() bool                 { return b.Real }

func (b *Bed) Run(ctx context.Context, s testbed.Setup, body func(context.Context, testbed.Env) error) error {
	b.started(s.Seed)
	defer b.ended()
	if b.Fail != nil {
		if err := b.Fail(s); err != nil {
			return err
		}
	}
	sent := 0 // counts commands; guarded by the memory's mu
	ping := func(client string) {
		var n int
		fmt.Sscanf(client, "c%d", &n)
		s.Commands(history.Command{Index: sent, Client: n, Node: "n0", Op: -1, Args: []history.Bytes{"PING"}, Sent: s.Clock(), Reply: "PONG"})
		sent++
	}
	life, end := context.WithCancel(context.WithValue(ctx, memoryKey{}, &memory{owner: map[string]string{}, asked: ping}))
	defer end()
	env := &fakeEnv{clock: s.Clock}
	for i := range s.Clients {
		env.clients = append(env.clients, &fakeClient{locks: &locks.Client{
			ID: fmt.Sprintf("c%d", i), Now: time.Now, Rand: rand.Reader, Context: life,
		}})
	}
	if s.Limit == 0 {
		return body(ctx, env)
	}
	runaway := &testbed.Breakdown{Kind: history.FRunaway, Detail: fmt.Sprintf("no end after %v", s.Limit)}
	ctx, cancel := context.WithTimeoutCause(ctx, s.Limit, runaway)
	defer cancel()
	err := body(ctx, env)
	if context.Cause(ctx) == error(runaway) {
		return runaway
	}
	return err
}

func (b *Bed) started(seed uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Seeds = append(b.Seeds, seed)
	b.running++
	b.Most = max(b.Most, b.running)
}

func (b *Bed) ended() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
}

type fakeEnv struct {
	testbed.Nodes // nil: only the methods below may be called
	clock         func() time.Duration
	clients       []*fakeClient
}

func (e *fakeEnv) Client(i int) testbed.Client { return e.clients[i] }
func (e *fakeEnv) Now() time.Duration          { return e.clock() }
func (e *fakeEnv) List() []string              { return []string{"n0"} }

func (e *fakeEnv) At(testbed.Point, func(testbed.Hit)) (cancel func()) { return func() {} }

func (e *fakeEnv) Keys(context.Context, string) ([]history.KeyState, error) {
	return []history.KeyState{{Key: "left", Type: "string", TTL: -1}}, nil
}

type fakeClient struct{ locks *locks.Client }

func (c *fakeClient) Locks() *locks.Client                              { return c.locks }
func (c *fakeClient) Step(ctx context.Context, name string) error       { return ctx.Err() }
func (c *fakeClient) Work(ctx context.Context) (<-chan struct{}, error) { return nil, ctx.Err() }
func (c *fakeClient) Awake(ctx context.Context) error                   { return ctx.Err() }
func (c *fakeClient) Open(int)                                          {}
