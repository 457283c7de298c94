package nemesis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// fakeEnv is a world in memory with all capabilities: clients pass the beginnings of steps and
// links, and nodes are maps of keys. It runs in a synctest bubble. Unlike in the simulation,
// everything happens at the exact instant that a test chooses. A test may make a fault slow or let
// it fail.
type fakeEnv struct {
	began  time.Time
	rec    *history.Recorder  // of the trial
	giveUp context.CancelFunc // ends the trial
	world  testbed.Env        // in which the plan runs: this one, unless a test prepares another

	// meddle has functions that are called when a fault is about to do something to the world,
	// such as "lift c0", or reads keys, such as "keys n0". They may wait, or return an error, with
	// which the fault fails.
	meddle meddling

	mu       sync.Mutex
	armed    []*armed
	clients  []*fakeClient
	nodes    map[string]*fakeNode
	list     []string
	barriers map[string]*barrier // keyed by link and direction, by node, by client or by client's work
	faults   []string            // what faults did to the world, in order
	kept     map[string]fakeKey  // the keys of a restarted node
	snapshot map[string]fakeKey  // the replica's keys while replication is stopped
}

type meddling map[string]func(context.Context) error

type armed struct {
	point testbed.Point
	do    func(testbed.Hit)
	done  chan struct{}
	due   bool
}

// barrier is a cut, held or reset link, a paused node or client, or work that takes longer.
type barrier struct {
	drop   bool
	hangs  func() error // of work that never ends
	lifted chan struct{}
	hits   int
}

func newFakeEnv(nodes ...string) *fakeEnv {
	e := &fakeEnv{began: time.Now(), nodes: map[string]*fakeNode{}, list: nodes, barriers: map[string]*barrier{}}
	e.rec = history.NewRecorder(nil, e.Now)
	for _, n := range nodes {
		e.nodes[n] = &fakeNode{keys: map[string]fakeKey{}}
	}
	for i := range 3 {
		c := &fakeClient{env: e, id: i}
		c.locks = &locks.Client{Now: func() time.Time { return time.Now().Add(c.skew()) }}
		e.clients = append(e.clients, c)
	}
	return e
}

// play runs the plan in a fake world of three clients and the nodes ("n0" if none), which prepare
// has made ready; nil = it is ready. It checks that Run leaves nothing behind, and returns the
// history and Run's error.
func play(t *testing.T, p Plan, nodes []string, prepare func(context.Context, *fakeEnv)) (ops []history.Op, err error) {
	t.Helper()
	if nodes == nil {
		nodes = []string{"n0"}
	}
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEnv(nodes...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		e.giveUp, e.world = cancel, e
		if prepare != nil {
			prepare(ctx, e)
		}
		err = Run(ctx, p, e.world, e.rec)
		if len(e.armed)+len(e.barriers) > 0 {
			t.Errorf("left behind: %d points, barriers %v", len(e.armed), e.barriers)
		}
		ops = e.rec.Ops()
		time.Sleep(10 * time.Second) // in which clients end
	})
	return ops, err
}

func (e *fakeEnv) Client(i int) testbed.Client { return e.clients[i] }
func (e *fakeEnv) Now() time.Duration          { return time.Since(e.began) }

func (e *fakeEnv) meet(ctx context.Context, what string) error {
	if meddle := e.meddle[what]; meddle != nil {
		return meddle(ctx)
	}
	return nil
}

// does notes what a fault is about to do to the world.
func (e *fakeEnv) does(ctx context.Context, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	e.mu.Lock()
	e.faults = append(e.faults, what)
	e.mu.Unlock()
	return e.meet(ctx, what)
}

// done reports whether a fault did this to the world, such as "lift c0".
func (e *fakeEnv) done(what string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.faults, what)
}

// seal ends the trial's history.
func (e *fakeEnv) seal(context.Context) error {
	return e.rec.End(history.Op{Process: history.Nemesis, Client: history.NoClient, F: history.FStall}, e.Now())
}

func (e *fakeEnv) At(p testbed.Point, do func(testbed.Hit)) func() {
	a := &armed{point: p, do: do, done: make(chan struct{})}
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

// reach calls what waits for the beginning of a client's step.
func (e *fakeEnv) reach(client int, step string) {
	var due []*armed
	e.mu.Lock()
	e.armed = slices.DeleteFunc(e.armed, func(a *armed) bool {
		if a.point.Client != client || a.point.Step != step {
			return false
		}
		a.due = true
		due = append(due, a)
		return true
	})
	e.mu.Unlock()
	for _, a := range due {
		a.do(testbed.Hit{Point: a.point, Time: e.Now()})
		close(a.done)
	}
}

// raise puts a barrier up; the returned Undo lifts it.
func (e *fakeEnv) raise(ctx context.Context, key string, b barrier) (testbed.Undo, error) {
	if err := e.does(ctx, "raise %s", key); err != nil {
		return nil, err
	}
	b.lifted = make(chan struct{})
	e.mu.Lock()
	e.barriers[key] = &b
	e.mu.Unlock()
	lift := sync.OnceValue(func() error {
		err := e.does(ctx, "lift %s", key)
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.barriers, key)
		close(b.lifted)
		return err
	})
	return func(context.Context) (int, error) {
		err := lift()
		e.mu.Lock()
		defer e.mu.Unlock()
		return b.hits, err
	}, nil
}

// hit returns the barrier, if there is one, which has then hit one more.
func (e *fakeEnv) hit(key string) *barrier {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.barriers[key]
	if b != nil {
		b.hits++
	}
	return b
}

// pass waits at a barrier, if there is one. It returns false if the barrier drops the message.
func (e *fakeEnv) pass(key string) bool {
	b := e.hit(key)
	if b == nil {
		return true
	}
	if b.drop {
		return false
	}
	<-b.lifted
	return true
}

// fakeClient is a client process of a fakeEnv.
type fakeClient struct {
	env   *fakeEnv
	id    int
	locks *locks.Client

	// Guarded by env.mu.
	offset  time.Duration
	crashed bool
}

func (c *fakeClient) Locks() *locks.Client            { return c.locks }
func (c *fakeClient) Open(int)                        {}
func (c *fakeClient) Awake(ctx context.Context) error { return ctx.Err() }

func (c *fakeClient) Work(ctx context.Context) (<-chan struct{}, error) {
	b := c.env.hit(workKey(c.id))
	switch {
	case b == nil:
		return nil, ctx.Err()
	case b.hangs != nil:
		return nil, errors.Join(b.hangs(), testbed.ErrHung)
	}
	return b.lifted, nil
}

func (c *fakeClient) skew() time.Duration {
	c.env.mu.Lock()
	defer c.env.mu.Unlock()
	return c.offset
}

// proceed waits while the client is paused. It returns an error if the client has crashed.
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
	c.env.reach(c.id, name)
	return errors.Join(c.proceed(), ctx.Err())
}

// set sends a command that sets a key for an hour, and waits for the reply unless a message is
// dropped or the node is down.
func (c *fakeClient) set(node, key string) {
	e, name := c.env, clientName(c.id)
	time.Sleep(time.Millisecond)
	if !e.pass(linkKey(name, node, testbed.Upstream)) || !e.pass(node) {
		return
	}
	e.mu.Lock()
	if n := e.nodes[node]; !n.down {
		n.commands++
		n.keys[key] = fakeKey{value: "t", expires: time.Hour}
	}
	e.mu.Unlock()
	e.pass(linkKey(name, node, testbed.Downstream))
}
