package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// fakeEnv is a world in memory with all capabilities: clients pass points and links, and nodes are
// maps of keys. It runs in a synctest bubble. Unlike in the simulation, everything happens at the
// exact instant that a test chooses. A test may replace a capability by a slow or failing one.
type fakeEnv struct {
	t     *testing.T
	began time.Time

	mu       sync.Mutex
	armed    []*armed
	clients  []*fakeClient
	nodes    map[string]*fakeNode
	list     []string
	barriers map[string]*barrier // keyed by link and direction, by node or by client
	faults   []string            // what faults did to the world, in order, such as "lift c0"
	snapshot map[string]fakeKey  // the replica's keys while replication is stopped
	moved    map[int]string      // the primary that a split gave each client
}

type armed struct {
	point testbed.Point
	skip  int
	do    func(testbed.Hit)
	done  chan struct{}
	due   bool
}

type fakeNode struct {
	keys     map[string]fakeKey
	scripts  int
	down     bool
	offset   time.Duration // how far the node's clock is wrong
	commands int
}

type fakeKey struct {
	value   string
	expires time.Duration // 0 = never
}

// barrier is a cut, held or reset link, a paused node or a paused client.
type barrier struct {
	drop   bool
	lifted chan struct{}
	hits   int
}

func newFakeEnv(t *testing.T, clients int, nodes ...string) *fakeEnv {
	e := &fakeEnv{
		t: t, began: time.Now(),
		nodes: map[string]*fakeNode{}, list: nodes, barriers: map[string]*barrier{}, moved: map[int]string{},
	}
	for _, n := range nodes {
		e.nodes[n] = &fakeNode{keys: map[string]fakeKey{}, scripts: 1}
	}
	for i := range clients {
		c := &fakeClient{env: e, id: i}
		c.locks = &locks.Client{Now: func() time.Time { return time.Now().Add(c.skew()) }}
		e.clients = append(e.clients, c)
	}
	return e
}

func (e *fakeEnv) Client(i int) testbed.Client { return e.clients[i] }
func (e *fakeEnv) Now() time.Duration          { return time.Since(e.began) }

func (e *fakeEnv) did(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults = append(e.faults, fmt.Sprintf(format, args...))
}

func (e *fakeEnv) At(p testbed.Point, do func(testbed.Hit)) func() {
	a := &armed{point: p, skip: p.Skip, do: do, done: make(chan struct{})}
	e.mu.Lock()
	e.armed = append(e.armed, a)
	e.mu.Unlock()
	return func() {
		e.mu.Lock()
		e.armed = slices.DeleteFunc(e.armed, func(b *armed) bool { return a == b })
		due := a.due
		e.mu.Unlock()
		if due {
			<-a.done
		}
	}
}

func (e *fakeEnv) reach(at testbed.Point, cmd history.Command) {
	e.mu.Lock()
	var due []*armed
	e.armed = slices.DeleteFunc(e.armed, func(a *armed) bool {
		p := a.point
		if p.Client != at.Client || p.Step != at.Step || p.N != at.N || p.When != at.When || p.Node != "" && p.Node != at.Node {
			return false
		}
		if a.skip > 0 {
			a.skip--
			return false
		}
		a.due = true
		due = append(due, a)
		return true
	})
	e.mu.Unlock()
	for _, a := range due {
		a.do(testbed.Hit{Point: a.point, Time: e.Now(), Command: cmd})
		close(a.done)
	}
}

// raise puts a barrier up; the returned Undo lifts it.
func (e *fakeEnv) raise(key string, drop bool) (testbed.Undo, error) {
	b := &barrier{drop: drop, lifted: make(chan struct{})}
	e.mu.Lock()
	e.barriers[key] = b
	e.mu.Unlock()
	e.did("raise %s", key)
	var once sync.Once
	return func(context.Context) (int, error) {
		once.Do(func() {
			e.mu.Lock()
			delete(e.barriers, key)
			e.mu.Unlock()
			close(b.lifted)
			e.did("lift %s", key)
		})
		e.mu.Lock()
		defer e.mu.Unlock()
		return b.hits, nil
	}, nil
}

// clean fails the test if a finished Run left points or barriers in the world.
func (e *fakeEnv) clean(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.armed)+len(e.barriers) > 0 {
		t.Errorf("left behind: %d points, barriers %v", len(e.armed), e.barriers)
	}
}

// done reports whether a fault did this to the world, such as "lift c0".
func (e *fakeEnv) done(what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.faults, what)
}

// pass waits at a barrier, if there is one. It returns false if the barrier drops the
// message.
func (e *fakeEnv) pass(key string) bool {
	e.mu.Lock()
	b := e.barriers[key]
	if b != nil {
		b.hits++
	}
	e.mu.Unlock()
	if b == nil {
		return true
	}
	if b.drop {
		return false
	}
	<-b.lifted
	return true
}

func linkKey(from, to string, d testbed.Direction) string { return from + "-" + to + " " + string(d) }

func (e *fakeEnv) disturb(l testbed.Link, d testbed.Direction, drop bool) (testbed.Undo, error) {
	if d != testbed.Both {
		return e.raise(linkKey(l.From, l.To, d), drop)
	}
	up, _ := e.raise(linkKey(l.From, l.To, testbed.Upstream), drop)
	down, _ := e.raise(linkKey(l.From, l.To, testbed.Downstream), drop)
	return func(ctx context.Context) (int, error) { return undoAll(ctx, []testbed.Undo{up, down}) }, nil
}

func (e *fakeEnv) Cut(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.disturb(l, d, true)
}

func (e *fakeEnv) Hold(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.disturb(l, d, false)
}

func (e *fakeEnv) Reset(_ context.Context, l testbed.Link) (testbed.Undo, error) {
	return e.disturb(l, testbed.Downstream, true)
}

func (e *fakeEnv) Pause(_ context.Context, node string) (testbed.Undo, error) {
	return e.raise(node, false)
}

func (e *fakeEnv) Kill(_ context.Context, node string, down func() error) error {
	e.did("kill %s", node)
	if err := down(); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[node].down = true
	return nil
}

func (e *fakeEnv) Restart(_ context.Context, node string) (history.Lost, error) {
	e.did("restart %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.nodes[node]
	n.down, n.keys, n.scripts = false, map[string]fakeKey{}, 0
	return history.Lost{Durability: history.Volatile, Keys: true, Scripts: true}, nil
}

func (e *fakeEnv) StopReplication(context.Context) (testbed.Undo, error) {
	e.did("stop replication")
	e.mu.Lock()
	e.snapshot = map[string]fakeKey{}
	for k, v := range e.nodes[e.list[0]].keys {
		e.snapshot[k] = v
	}
	e.mu.Unlock()
	return func(context.Context) (int, error) { e.did("resume replication"); return 0, nil }, nil
}

func (e *fakeEnv) Promote(_ context.Context, node string) error {
	e.did("promote %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[node] = &fakeNode{keys: e.snapshot}
	e.list = []string{node}
	return nil
}

func (e *fakeEnv) FlushScripts(_ context.Context, node string) (int, error) {
	e.did("flush %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.nodes[node].scripts
	e.nodes[node].scripts = 0
	return n, nil
}

func (e *fakeEnv) Keys(_ context.Context, node string) ([]history.KeyState, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nodes[node].down {
		return nil, errors.New("node is down")
	}
	var all []history.KeyState
	for k, v := range e.nodes[node].keys {
		if v.expires == 0 || v.expires > e.Now() {
			ttl := time.Duration(-1)
			if v.expires != 0 {
				ttl = v.expires - e.Now()
			}
			all = append(all, history.KeyState{Key: k, Type: "string", TTL: ttl, Value: history.Bytes(v.value)})
		}
	}
	return all, nil
}

func (e *fakeEnv) List() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}
