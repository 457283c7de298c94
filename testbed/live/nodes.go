package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Pause implements testbed.Nodes. Hits is the number of commands that were sent to the node
// and not answered before the node was resumed.
func (e ownEnv) Pause(ctx context.Context, node string) (testbed.Undo, error) {
	n, err := e.node(node)
	if err != nil {
		return nil, err
	}
	w := e.countHits(func(c history.Command) bool { return c.Node == node && c.Served == 0 })
	thaw, err := n.freeze(ctx)
	if err != nil {
		e.count(w)
		return nil, err
	}
	return once(func(context.Context) (int, error) {
		return e.count(w), thaw()
	}), nil
}

// Kill implements testbed.Nodes.
func (e ownEnv) Kill(ctx context.Context, node string, down func() error) error {
	n, err := e.node(node)
	if err != nil {
		return err
	}
	return n.kill(ctx, down)
}

// kill is Kill for worlds whose servers elect masters. It notes in p that the node is down and,
// after the kill, calls gone.
func (e ownEnv) kill(ctx context.Context, node string, down func() error, p *provocation, gone func(*node)) error {
	failed := p.killed(node)
	if err := e.Kill(ctx, node, down); err != nil {
		failed()
		return err
	}
	n, _ := e.node(node)
	gone(n)
	return nil
}

// Restart implements testbed.Nodes. A replica, or a replaced primary, comes back as a
// replica of the present primary and copies the primary's data.
func (e ownEnv) Restart(ctx context.Context, node string) (lost history.Lost, err error) {
	n, err := e.node(node)
	if err != nil {
		return lost, err
	}
	if err := ctx.Err(); err != nil {
		return lost, err
	}
	args, err := e.rejoin(n)
	if err != nil {
		return lost, err
	}
	return n.restart(e.ctx, args...)
}

// FlushScripts implements testbed.Nodes. Nothing else runs on the node between the count and the
// flush.
func (e ownEnv) FlushScripts(ctx context.Context, node string) (scripts int, err error) {
	n, err := e.node(node)
	if err != nil {
		return 0, err
	}
	if !n.take(ctx.Done()) {
		return 0, fmt.Errorf("flush scripts of node %s: %w", node, ctx.Err())
	}
	defer n.release()
	err = n.ask(ctx, func(c *redis.Client) error {
		info, err := c.InfoMap(ctx, "memory").Result()
		if err != nil {
			return err
		}
		if scripts, err = strconv.Atoi(info["Memory"]["number_of_cached_scripts"]); err != nil {
			return fmt.Errorf("number of cached scripts: %w", err)
		}
		return c.ScriptFlush(ctx).Err()
	})
	if err != nil {
		return 0, fmt.Errorf("flush scripts of node %s: %w", node, err)
	}
	return scripts, nil
}

// Keys implements testbed.Inspector.
func (e *env) Keys(ctx context.Context, node string) ([]history.KeyState, error) {
	n, err := e.node(node)
	if err != nil {
		return nil, err
	}
	var keys []history.KeyState
	err = n.ask(ctx, func(c *redis.Client) (err error) {
		if s, running := n.running(); running == nil {
			if _, shared := s.(Remote); shared { // the server's other users may have too many keys to scan
				keys, err = keyStates(ctx, c, n.named.all())
				return err
			}
		}
		if e.cluster != nil { // READONLY makes a replica answer
			if err := c.ReadOnly(ctx).Err(); err != nil {
				return err
			}
		}
		keys, err = keysOn(ctx, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keys of node %s: %w", node, err)
	}
	return keys, nil
}

// keysOn returns the states of all keys on a node, sorted by key.
func keysOn(ctx context.Context, c *redis.Client) ([]history.KeyState, error) {
	var names []string
	all := c.Scan(ctx, 0, "", 1000).Iterator()
	for all.Next(ctx) {
		names = append(names, all.Val())
	}
	if err := all.Err(); err != nil {
		return nil, err
	}
	return keyStates(ctx, c, names)
}

// keyStates returns the states of the named keys that exist, sorted by key.
func keyStates(ctx context.Context, c *redis.Client, names []string) ([]history.KeyState, error) {
	var keys []history.KeyState
	for _, name := range names {
		k, err := keyState(ctx, c, name)
		if err != nil {
			return nil, err
		}
		if k.Type != "none" { // "none": no such key, or it has expired
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b history.KeyState) int { return cmp.Compare(a.Key, b.Key) })
	return slices.CompactFunc(keys, func(a, b history.KeyState) bool { return a.Key == b.Key }), nil
}

// keyState reads one key in one transaction.
func keyState(ctx context.Context, c *redis.Client, key string) (history.KeyState, error) {
	var kind *redis.StatusCmd
	var ttl *redis.DurationCmd
	var text *redis.StringCmd
	var fields *redis.MapStringStringCmd
	// The type is not known yet: ask for the value both as a string and as a hash. An answer for
	// another type is an error, and is ignored.
	_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		kind, ttl, text, fields = p.Type(ctx, key), p.PTTL(ctx, key), p.Get(ctx, key), p.HGetAll(ctx, key)
		return nil
	})
	if kind.Err() != nil {
		return history.KeyState{}, err
	}
	k := history.KeyState{Key: key, Type: kind.Val(), TTL: ttl.Val()}
	switch k.Type {
	case "string":
		k.Value = history.Bytes(text.Val())
	case "hash":
		k.Value = history.Bytes(hash(fields.Val()))
	}
	return k, nil
}

// hash returns fields as "field=value ...", sorted.
func hash(fields map[string]string) string {
	var pairs []string
	for f, v := range fields {
		pairs = append(pairs, f+"="+v)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, " ")
}

// List implements testbed.Inspector.
func (e *env) List() []string {
	var names []string
	for _, n := range e.serving() {
		names = append(names, n.name)
	}
	return names
}
