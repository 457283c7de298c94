package nemesis

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// serves returns the node that a client reaches when it uses a node's name. The caller holds e.mu.
func (e *fakeEnv) serves(client int, node string) string {
	if heir, ok := e.moved[client]; ok {
		return heir
	}
	if len(e.list) == 1 {
		return e.list[0]
	}
	return node
}

func (e *fakeEnv) Skew(client int, by time.Duration) {
	e.did("skew c%d %v", client, by)
	c := e.clients[client]
	e.mu.Lock()
	defer e.mu.Unlock()
	c.offset = by
}

func (e *fakeEnv) PauseClient(client int) (testbed.Undo, error) {
	return e.raise(clientName(client), false)
}

func (e *fakeEnv) SlowWork(client int) (testbed.Undo, error) {
	return e.prolong(client, &fakeWork{done: make(chan struct{})}), nil
}

func (e *fakeEnv) HangWork(client int, hangs func() error) (testbed.Undo, error) {
	return e.prolong(client, &fakeWork{done: make(chan struct{}), hangs: hangs}), nil
}

// fakeWork is a fault that prolongs a client's work: slow-work or, if hangs is not nil, hung-work.
type fakeWork struct {
	done  chan struct{}
	hangs func() error
	hits  int
}

func (e *fakeEnv) prolong(client int, w *fakeWork) testbed.Undo {
	e.did("prolong c%d", client)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients[client].work = w
	return func(context.Context) (int, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.clients[client].work == w {
			e.clients[client].work = nil
			close(w.done)
		}
		return w.hits, nil
	}
}

func (e *fakeEnv) CrashClient(client int) error {
	e.did("crash c%d", client)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.clients[client].crashed {
		return errors.New("crashed before")
	}
	e.clients[client].crashed = true
	return nil
}

func (e *fakeEnv) SkewNode(_ context.Context, node string, offset time.Duration, jumps func() error) (int, error) {
	e.mu.Lock()
	n, moved := e.nodes[node], 0
	stands := offset == n.offset
	e.mu.Unlock()
	if !stands {
		e.did("skew %s %v", node, offset)
		if err := jumps(); err != nil {
			return 0, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, k := range n.keys {
		if k.expires != 0 && offset != n.offset {
			k.expires = max(1, k.expires-(offset-n.offset))
			n.keys[name] = k
			moved++
		}
	}
	n.offset = offset
	return moved, nil
}

func (e *fakeEnv) Evict(ctx context.Context, node string, evicted func([]history.KeyState) error) ([]history.KeyState, error) {
	keys, err := e.Keys(ctx, node)
	e.did("evict %s", node)
	if err == nil && len(keys) > 0 {
		err = evicted(keys)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.nodes[node].keys)
	return keys, err
}

func (e *fakeEnv) Migrate(ctx context.Context, from, to string, moved func(from, to string, keys []history.KeyState) error) (testbed.Undo, error) {
	keys, err := e.Keys(ctx, from)
	if err != nil {
		return nil, err
	}
	e.did("migrate %s %s", from, to)
	if len(keys) > 0 {
		err = moved(from, to, keys)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, k := range keys {
		e.nodes[to].keys[k.Key] = e.nodes[from].keys[k.Key]
		delete(e.nodes[from].keys, k.Key)
	}
	return func(context.Context) (int, error) { return len(keys), nil }, err
}

func (e *fakeEnv) Split(_ context.Context, node string, clients []int) (testbed.Undo, error) {
	e.did("split %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.Contains(e.list, node) || len(clients) == 0 {
		return nil, errors.New("nothing to split")
	}
	old := e.nodes[e.list[0]]
	heir := &fakeNode{keys: map[string]fakeKey{}}
	for k, v := range old.keys {
		heir.keys[k] = v
	}
	e.nodes[node] = heir
	for _, c := range clients {
		e.moved[c] = node
	}
	before := old.commands
	return func(context.Context) (int, error) {
		e.did("unite %s", node)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.list = []string{node}
		clear(e.moved)
		return old.commands - before, nil
	}, nil
}
