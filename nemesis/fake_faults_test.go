package nemesis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

type fakeNode struct {
	keys     map[string]fakeKey
	down     bool
	offset   time.Duration // how far the node's clock is wrong
	commands int
}

type fakeKey struct {
	value   string
	expires time.Duration // 0 = never
}

func linkKey(from, to string, d testbed.Direction) string { return from + "-" + to + " " + string(d) }
func workKey(client int) string                           { return "work of " + clientName(client) }

func (e *fakeEnv) disturb(ctx context.Context, l testbed.Link, d testbed.Direction, drop bool) (testbed.Undo, error) {
	if d != testbed.Both {
		return e.raise(ctx, linkKey(l.From, l.To, d), barrier{drop: drop})
	}
	up, err := e.disturb(ctx, l, testbed.Upstream, drop)
	if err != nil {
		return nil, err
	}
	down, err := e.disturb(ctx, l, testbed.Downstream, drop)
	return func(ctx context.Context) (int, error) { return undoAll(ctx, []testbed.Undo{up, down}) }, err
}

func (e *fakeEnv) Cut(ctx context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.disturb(ctx, l, d, true)
}

func (e *fakeEnv) Hold(ctx context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.disturb(ctx, l, d, false)
}

func (e *fakeEnv) Reset(ctx context.Context, l testbed.Link) (testbed.Undo, error) {
	return e.disturb(ctx, l, testbed.Downstream, true)
}

func (e *fakeEnv) Pause(ctx context.Context, node string) (testbed.Undo, error) {
	return e.raise(ctx, node, barrier{})
}

func (e *fakeEnv) PauseClient(client int) (testbed.Undo, error) {
	return e.raise(context.Background(), clientName(client), barrier{})
}

func (e *fakeEnv) SlowWork(client int) (testbed.Undo, error) {
	return e.raise(context.Background(), workKey(client), barrier{})
}

func (e *fakeEnv) HangWork(client int, hangs func() error) (testbed.Undo, error) {
	return e.raise(context.Background(), workKey(client), barrier{hangs: hangs})
}

func (e *fakeEnv) CrashClient(client int) error {
	err := e.does(context.Background(), "crash c%d", client)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients[client].crashed = true
	return err
}

func (e *fakeEnv) Skew(client int, by time.Duration) {
	_ = e.does(context.Background(), "skew c%d %v", client, by)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clients[client].offset = by
}

func (e *fakeEnv) Kill(ctx context.Context, node string, down func() error) error {
	if err := down(); err != nil {
		return err
	}
	err := e.does(ctx, "kill %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[node].down = true
	return err
}

func (e *fakeEnv) Restart(ctx context.Context, node string) (history.Lost, error) {
	err := e.does(ctx, "restart %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[node] = &fakeNode{keys: e.kept}
	return history.Lost{Durability: history.Volatile, Keys: true, Scripts: true}, err
}

func (e *fakeEnv) StopReplication(ctx context.Context) (testbed.Undo, error) {
	err := e.does(ctx, "stop replication")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.snapshot = maps.Clone(e.nodes[e.list[0]].keys)
	return func(ctx context.Context) (int, error) { return 0, e.does(ctx, "resume replication") }, err
}

func (e *fakeEnv) Promote(ctx context.Context, node string) error {
	err := e.does(ctx, "promote %s", node)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[node] = &fakeNode{keys: e.snapshot}
	e.list = []string{node}
	return err
}

func (e *fakeEnv) FlushScripts(ctx context.Context, node string) (int, error) {
	return 1, e.does(ctx, "flush %s", node)
}

func (e *fakeEnv) Keys(ctx context.Context, node string) (all []history.KeyState, err error) {
	err = e.meet(ctx, "keys "+node)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.nodes[node].down {
		return nil, errors.New("node is down")
	}
	for name, k := range e.nodes[node].keys {
		left := k.expires - e.Now()
		if k.expires == 0 {
			left = -1
		} else if left <= 0 {
			continue
		}
		all = append(all, history.KeyState{Key: name, Type: "string", TTL: left, Value: history.Bytes(k.value)})
	}
	return all, err
}

func (e *fakeEnv) List() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

func (e *fakeEnv) SkewNode(ctx context.Context, node string, offset time.Duration, jumps func() error) (moved int, err error) {
	n := e.nodes[node]
	if offset == n.offset {
		return 0, nil
	}
	if err := e.does(ctx, "skew %s %v", node, offset); err != nil {
		return 0, err
	}
	if err := jumps(); err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for name, k := range n.keys {
		if k.expires != 0 {
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
	if err == nil && len(keys) > 0 {
		err = evicted(keys)
	}
	e.mu.Lock()
	clear(e.nodes[node].keys)
	e.mu.Unlock()
	return keys, errors.Join(err, e.does(ctx, "evict %s", node))
}

func (e *fakeEnv) Migrate(ctx context.Context, from, to string, moved func(from, to string, keys []history.KeyState) error) (testbed.Undo, error) {
	keys, err := e.Keys(ctx, from)
	if err == nil && len(keys) > 0 {
		err = moved(from, to, keys)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[to].keys, e.nodes[from].keys = e.nodes[from].keys, e.nodes[to].keys
	return func(context.Context) (int, error) { return len(keys), nil }, err
}

func (e *fakeEnv) Split(ctx context.Context, node string, _ []int) (testbed.Undo, error) {
	e.mu.Lock()
	old := e.nodes[e.list[0]]
	e.nodes[node] = &fakeNode{keys: maps.Clone(old.keys)}
	before := old.commands
	e.mu.Unlock()
	return func(ctx context.Context) (int, error) {
		err := e.does(ctx, "unite %s", node)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.list = []string{node}
		return old.commands - before, err
	}, e.does(ctx, "split %s", node)
}
