package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/testbed"
)

// Split implements testbed.SplitBrain. The old primary executes no client's command while Split
// starts the count of writes and promotes the node. So each write of the old primary either may
// have reached the new primary or counts as a hit, never both.
func (e manualEnv) Split(ctx context.Context, node string, clients []int) (testbed.Undo, error) {
	heir, old, moved, err := e.sides(node, clients)
	if err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	if err := e.part(ctx, heir, old, moved); err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	unite := once(func(ctx context.Context) (int, error) {
		writes := old.stopCounting()
		if err := e.unite(ctx, old); err != nil {
			return writes, fmt.Errorf("end of split brain: %w", err)
		}
		return writes, nil
	})
	if err := e.rally(ctx, heir, old); err != nil {
		_, uerr := unite(ctx)
		return nil, fmt.Errorf("split brain: %w", errors.Join(err, uerr))
	}
	return unite, nil
}

// sides returns the primary that a split is to have on one side, and the named replica and the clients on the other.
func (e *env) sides(name string, clients []int) (heir, old *node, moved []*client, err error) {
	if e.setup.SharedLinks {
		return nil, nil, nil, errors.New("the clients share their links, and cannot be moved one by one")
	}
	for _, id := range clients {
		if id < 0 || id >= len(e.clients) {
			return nil, nil, nil, fmt.Errorf("no client %d", id)
		}
		moved = append(moved, e.clients[id])
	}
	heir, old, err = e.heir(name)
	return heir, old, moved, err
}

// part makes heir a second primary and moves the clients in moved to heir.
func (e *env) part(ctx context.Context, heir, old *node, moved []*client) error {
	if !old.take(ctx.Done()) {
		return ctx.Err()
	}
	defer old.release()
	if err := old.startCounting(ctx); err != nil {
		return err
	}
	if err := e.promoteFor(ctx, heir, moved); err != nil {
		old.stopCounting()
		return err
	}
	return nil
}

// unite moves all clients to the present primary. If the old primary runs and is not a replica yet,
// unite makes it a replica of the present primary.
func (e *env) unite(ctx context.Context, old *node) error {
	primary := e.present()
	move(e.clients, primary)
	if _, down := old.running(); down != nil || old == primary || e.stream(old) != nil {
		return nil
	}
	return e.demote(ctx, old, primary)
}

// writeCounter counts the answered commands that have changed a node's data since the count began.
// After each answer, the counter asks for the node's number of changes, since a write command may
// change nothing. Expiries do not count: they are not commands.
type writeCounter struct {
	client *redis.Client

	mu      sync.Mutex
	changes int // the node's last count
	writes  int
}

// startCounting starts counting the node's writes, if the node runs. At most one counter may be
// open.
func (n *node) startCounting(ctx context.Context) error {
	if _, err := n.running(); err != nil {
		return nil // a dead node acknowledges no writes
	}
	c, err := n.admin()
	if err != nil {
		return err
	}
	l := &writeCounter{client: c}
	if l.changes, err = changes(ctx, c); err != nil {
		c.Close()
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	n.writes.Store(l)
	return nil
}

// stopCounting ends the count and returns the number of writes, even after the node was killed.
func (n *node) stopCounting() int { return n.writes.Load().close() }

// answered updates the count. It is called after the node has answered and before the
// answer is forwarded.
func (l *writeCounter) answered() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now, err := changes(context.Background(), l.client)
	if err == nil && now > l.changes { // err: the node has gone, or the counter is closed
		l.writes++
		l.changes = now
	}
}

// close ends the count and returns the number of writes. It may be called twice, and on a nil
// counter.
func (l *writeCounter) close() int {
	if l == nil {
		return 0
	}
	l.client.Close() // ends a pending request to the node
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// changes returns how often commands have changed a node's data since its start. Redis
// resets that count when it saves an RDB file, but no node of a trial saves one.
func changes(ctx context.Context, c *redis.Client) (int, error) {
	return number(ctx, c, "persistence", "rdb_changes_since_last_save")
}
