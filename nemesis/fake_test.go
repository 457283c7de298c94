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

// fakeEnv is a world in memory with all capabilities: clients pass points and
// links, nodes are maps of keys. It runs in a synctest bubble, so that time
// costs nothing.
type fakeEnv struct {
	t     *testing.T
	began time.Time

	mu       sync.Mutex
	armed    []*armed
	clients  []*fakeClient
	nodes    map[string]*fakeNode
	list     []string
	barriers map[string]*barrier // by link and direction, or node
	faults   []string            // what was done to the world, in order
	snapshot map[string]fakeKey  // what the replica knows while replication is stopped
	moved    map[int]string      // by client: the primary that a split gave it
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
	offset   time.Duration // of its clock
	commands int
}

type fakeKey struct {
	value   string
	expires time.Duration // 0 = never
}

// barrier is a cut, a held link, a paused node or a paused client.
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
		c := &fakeClient{env: e, id: i, timeout: 500 * time.Millisecond}
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

// raise puts a barrier up; Undo lifts it.
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

// clean complains of what a finished Run left in the world.
func (e *fakeEnv) clean(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.armed)+len(e.barriers) > 0 {
		t.Errorf("left behind: %d points, barriers %v", len(e.armed), e.barriers)
	}
}

// done says whether something was done to the world.
func (e *fakeEnv) done(what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.faults, what)
}

// pass goes through a barrier, if there is one: false if it drops what comes.
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

// fakeClient is a client process.
type fakeClient struct {
	env     *fakeEnv
	id      int
	locks   *locks.Client
	timeout time.Duration

	// Guarded by env.mu.
	offset  time.Duration
	crashed bool
	step    string
	n       map[string]int
}

func (c *fakeClient) Locks() *locks.Client { return c.locks }
func (c *fakeClient) Open(int)             {}

func (c *fakeClient) skew() time.Duration {
	c.env.mu.Lock()
	defer c.env.mu.Unlock()
	return c.offset
}

// proceed waits while the client is paused; an error if it has crashed.
func (c *fakeClient) proceed() error {
	c.env.pass(clientName(c.id))
	c.env.mu.Lock()
	defer c.env.mu.Unlock()
	if c.crashed {
		return testbed.ErrCrashed
	}
	return nil
}

func (c *fakeClient) Step(ctx context.Context, name string) error {
	if err := c.proceed(); err != nil {
		return err
	}
	c.env.mu.Lock()
	c.step, c.n = name, map[string]int{}
	c.env.mu.Unlock()
	c.env.reach(testbed.Point{Client: c.id, Step: name}, history.Command{})
	return errors.Join(c.proceed(), ctx.Err())
}

var errTimeout = errors.New("i/o timeout")

// do sends a command: run is what it does on the node, at one moment. Whatever
// becomes of the client, a command that was sent runs, unless it is dropped.
func (c *fakeClient) do(node, name string, run func(*fakeNode) string) (string, error) {
	at := testbed.Point{Client: c.id, Step: c.step, Node: node, When: testbed.Before}
	c.n[node]++
	at.N = c.n[node]
	cmd := history.Command{Args: []history.Bytes{history.Bytes(name), "k"}, Node: node, N: at.N}
	c.env.reach(at, cmd)
	if err := c.proceed(); err != nil {
		return "", err
	}
	replies := make(chan string, 1)
	go c.travel(node, run, replies)
	at.When = testbed.Sent
	c.env.reach(at, cmd)
	if err := c.proceed(); err != nil {
		return "", err
	}
	select {
	case r := <-replies:
		at.When = testbed.Replied
		c.env.reach(at, cmd)
		return r, c.proceed()
	case <-time.After(c.timeout):
		return "", errors.Join(errTimeout, c.proceed())
	}
}

// travel is a command's way to the node and back.
func (c *fakeClient) travel(node string, run func(*fakeNode) string, replies chan<- string) {
	time.Sleep(time.Millisecond)
	e, name := c.env, clientName(c.id)
	e.mu.Lock()
	node = e.serves(c.id, node)
	e.mu.Unlock()
	if !e.pass(linkKey(name, node, testbed.Upstream)) || !e.pass(node) {
		return
	}
	e.mu.Lock()
	node = e.serves(c.id, node)
	n := e.nodes[node]
	if n.down {
		e.mu.Unlock()
		return
	}
	n.commands++
	for k, v := range n.keys {
		if v.expires != 0 && v.expires <= e.Now() {
			delete(n.keys, k)
		}
	}
	r := run(n)
	e.mu.Unlock()
	time.Sleep(time.Millisecond)
	if e.pass(linkKey(name, node, testbed.Downstream)) {
		replies <- r
	}
}
