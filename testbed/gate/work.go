package gate

import (
	"context"
	"slices"

	"github.com/lockstorm/lockstorm/testbed"
)

// longWork is one fault that prolongs a client's work. Gate.mu guards it.
type longWork struct {
	done  chan struct{} // closed when the fault ends
	hangs func() error  // called when the client begins to hang; nil = the work is only slow
	hits  int
}

// SlowWork implements testbed.Clients.
func (g *Gate) SlowWork(client int) (testbed.Undo, error) { return g.prolong(client, nil) }

// HangWork implements testbed.Clients.
func (g *Gate) HangWork(client int, hangs func() error) (testbed.Undo, error) {
	return g.prolong(client, hangs)
}

func (g *Gate) prolong(client int, hangs func() error) (testbed.Undo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	cl, err := g.client(client)
	if err != nil {
		return nil, err
	}
	l := &longWork{done: make(chan struct{}), hangs: hangs}
	cl.work = append(cl.work, l)
	return func(context.Context) (int, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		if at := slices.Index(cl.work, l); at >= 0 {
			cl.work = slices.Delete(cl.work, at, at+1)
			close(l.done)
		}
		return l.hits, nil
	}, nil
}

// Work does for a client what testbed.Client.Work promises.
func (g *Gate) Work(ctx context.Context, client int) (prolonged <-chan struct{}, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	cl, err := g.client(client)
	if err != nil {
		return nil, err
	}
	if cl.slowed {
		cl.slowed = false
		g.asleep(waiter{client: cl}) // the goroutine that ended the fault goes on first
	}
	if err := g.proceed(ctx, waiter{client: cl}); err != nil || len(cl.work) == 0 {
		return nil, err
	}
	l := cl.work[0]
	l.hits++
	if l.hangs == nil {
		cl.slowed = true
		return l.done, nil
	}
	g.mu.Unlock()
	err = l.hangs()
	g.mu.Lock()
	if err == nil {
		err = testbed.ErrHung
	}
	return nil, err
}
