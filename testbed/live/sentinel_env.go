package live

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// sentinelEnv is a world whose Sentinels elect the primary.
type sentinelEnv struct {
	ownEnv
	*sentinels
}

var (
	_ testbed.Nodes      = sentinelEnv{}
	_ testbed.SplitBrain = sentinelEnv{}
	_ testbed.Elections  = sentinelEnv{}
)

// Promote implements testbed.Nodes. It only waits until every Sentinel reports this node as
// the primary; the caller must cause the failover, which may be over when Promote is called.
func (e sentinelEnv) Promote(ctx context.Context, node string) error {
	n, err := e.node(node)
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	if e.present() == n && !e.sentinels.unclaimed.Load() {
		if old, _ := e.rivals(); old == nil && e.chosen(ctx, e.sentinels.all[0], n) == nil {
			return fmt.Errorf("promote: node %s is the primary", node)
		}
	}
	if err := e.await(ctx, n); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	e.sentinels.unclaimed.Store(false)
	return nil
}

// await waits until every Sentinel reports the node as the primary. The error contains the
// view of the first Sentinel that does not.
func (e *env) await(ctx context.Context, n *node) error {
	for _, s := range e.sentinels.all {
		if err := until(ctx, func() (string, error) { return retried(e.chosen(ctx, s, n)) }); err != nil {
			return fmt.Errorf("%s did not make %s the primary: %w", s.name, n.name, err)
		}
	}
	return nil
}

// chosen returns nil if the Sentinel reports the node as the primary, else an error with
// the Sentinel's view of the primary.
func (e *env) chosen(ctx context.Context, s, n *node) error {
	return s.askSentinel(context.WithoutCancel(ctx), func(c *redis.SentinelClient) error {
		addr, err := c.GetMasterAddrByName(ctx, watched).Result()
		if err != nil {
			return fmt.Errorf("address of the primary: %w", err)
		}
		if strings.Join(addr, ":") != e.sentinels.peerProxies[n].announced() {
			return errors.New(state(ctx, c))
		}
		return nil
	})
}

// Kill implements testbed.Nodes.
func (e sentinelEnv) Kill(ctx context.Context, node string, down func() error) error {
	return e.kill(ctx, node, down, e.provocation, e.deposed)
}

// Restart implements testbed.Nodes. It starts a replaced primary as a replica, because Sentinels
// would take ten seconds to demote it.
func (e sentinelEnv) Restart(ctx context.Context, node string) (history.Lost, error) {
	return e.restart(node, func() (history.Lost, error) { return e.ownEnv.Restart(ctx, node) })
}

// Pause implements testbed.Nodes. When the undo resumes a replaced primary, that primary executes
// the waiting commands. Then the undo makes it a replica; Sentinels would do so only ten seconds
// later.
func (e sentinelEnv) Pause(ctx context.Context, node string) (testbed.Undo, error) {
	return e.during(func() (testbed.Undo, error) { return e.ownEnv.Pause(ctx, node) }, e.retire)
}

// retire ends a period with two primaries. If the old primary runs, retire makes it a replica of
// the new primary and closes its clients' connections. Sentinels would do so later.
func (e sentinelEnv) retire(ctx context.Context) error {
	old, heir := e.rivals()
	if old == nil {
		return nil
	}
	if _, err := old.running(); err != nil {
		return nil
	}
	if !old.take(ctx.Done()) {
		return fmt.Errorf("make %s a replica: %w", old.name, ctx.Err())
	}
	defer old.release()
	e.deposed(old)
	host, port := e.sentinels.peerProxies[heir].addr()
	err := old.ask(ctx, func(c *redis.Client) error {
		_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.ReplicaOf(ctx, host, port)
			p.Do(ctx, "CLIENT", "KILL", "TYPE", "normal")
			p.Do(ctx, "CLIENT", "KILL", "TYPE", "pubsub")
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("make %s a replica: %w", old.name, err)
	}
	return nil
}

// hearing returns a function that is called with each command from another server to n, before n gets
// the command. The function notes promotions and demotions by REPLICAOF. Sentinels send REPLICAOF
// between MULTI and EXEC, so the function notes the REPLICAOF before n executes it.
func (e *env) hearing(n *node) hearing {
	return func(_ string, args []history.Bytes) {
		switch resp.Name(args) {
		case "SLAVEOF", "REPLICAOF":
			if resp.Name(args[1:]) == "NO" {
				e.promoted(n)
			} else {
				e.sentinels.deposed(n)
			}
		}
	}
}

// promoted notes that the node is about to become the primary.
func (e *env) promoted(n *node) {
	w := e.sentinels
	w.mu.Lock()
	defer w.mu.Unlock()
	if n == w.shard.present() {
		return // already noted
	}
	w.unclaimed.Store(true)
	w.elected(w.shard, n)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.primary = n
}

// deposed notes that the node is no longer a primary. The node may have been a replica all along.
func (w *sentinels) deposed(n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n == w.shard.master {
		w.unite(w.shard)
	}
}

// reaching notes that a client is about to connect to the node.
func (w *sentinels) reaching(client int, n *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached(w.shard, client, n)
}

// rivals returns the two primaries; nil, nil if there is only one.
func (w *sentinels) rivals() (old, heir *node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shard.heir == nil {
		return nil, nil
	}
	return w.shard.master, w.shard.heir
}
