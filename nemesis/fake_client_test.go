package nemesis

import (
	"context"
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// fakeClient is a client process of a fakeEnv.
type fakeClient struct {
	env   *fakeEnv
	id    int
	locks *locks.Client

	// Guarded by env.mu.
	offset  time.Duration
	crashed bool
	work    *fakeWork
	step    string
	n       map[string]int
}

func (c *fakeClient) Locks() *locks.Client            { return c.locks }
func (c *fakeClient) Open(int)                        {}
func (c *fakeClient) Awake(ctx context.Context) error { return ctx.Err() }

func (c *fakeClient) Work(ctx context.Context) (<-chan struct{}, error) {
	c.env.mu.Lock()
	w := c.work
	if w != nil {
		w.hits++
	}
	c.env.mu.Unlock()
	switch {
	case w == nil:
		return nil, ctx.Err()
	case w.hangs != nil:
		return nil, errors.Join(w.hangs(), testbed.ErrHung)
	}
	return w.done, nil
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
	c.env.mu.Lock()
	c.step, c.n = name, map[string]int{}
	c.env.mu.Unlock()
	c.env.reach(testbed.Point{Client: c.id, Step: name}, history.Command{})
	return errors.Join(c.proceed(), ctx.Err())
}

// get sends a command, which the node runs in one instant, and waits for the reply. A command that
// was sent runs even if the client crashes, unless the command is dropped or the node is down.
func (c *fakeClient) get(node string, run func(*fakeNode)) {
	at := testbed.Point{Client: c.id, Step: c.step, Node: node, When: testbed.Before}
	c.n[node]++
	at.N = c.n[node]
	cmd := history.Command{Args: []history.Bytes{"GET", "k"}, Node: node, N: at.N}
	c.env.reach(at, cmd)
	if c.proceed() != nil {
		return
	}
	replied := make(chan struct{}, 1)
	go c.travel(node, run, replied)
	at.When = testbed.Sent
	c.env.reach(at, cmd)
	if c.proceed() != nil {
		return
	}
	select {
	case <-replied:
		at.When = testbed.Replied
		c.env.reach(at, cmd)
		_ = c.proceed()
	case <-time.After(testTTL / 2):
	}
}

// travel is a command's way to the node and back.
func (c *fakeClient) travel(node string, run func(*fakeNode), replied chan<- struct{}) {
	time.Sleep(time.Millisecond)
	e, name := c.env, clientName(c.id)
	e.mu.Lock()
	node = e.serves(c.id, node)
	e.mu.Unlock()
	if !e.pass(linkKey(name, node, testbed.Upstream)) || !e.pass(node) {
		return
	}
	e.mu.Lock()
	n := e.nodes[e.serves(c.id, node)]
	if n.down {
		e.mu.Unlock()
		return
	}
	n.commands++
	run(n)
	e.mu.Unlock()
	time.Sleep(time.Millisecond)
	if e.pass(linkKey(name, node, testbed.Downstream)) {
		replied <- struct{}{}
	}
}
