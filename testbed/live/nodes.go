package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/live/look"
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
		var err error
		if scripts, err = number(ctx, c, "memory", "number_of_cached_scripts"); err != nil {
			return err
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
	keys, err := e.keysOf(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("keys of node %s: %w", node, err)
	}
	return keys, nil
}

// keysOf looks at the node's keys, also those of a replica, and returns their states, sorted by key.
func (e *env) keysOf(ctx context.Context, n *node) (keys []history.KeyState, err error) {
	if _, err := n.running(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(0, 1)) })()
	l, err := look.New(conn, e.lookOptions(n))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	seen, err := l.Look(nil, n.clock)
	if err != nil {
		return nil, cmp.Or(ctx.Err(), testbed.BareError(err))
	}
	for name, k := range seen.Keys {
		state := history.KeyState{Key: name, Type: k.Content.Type, TTL: -1, Value: k.Content.Value}
		if k.Ends > 0 {
			state.TTL = max(0, time.Duration(k.Ends)*time.Millisecond-seen.Time.Truncate(time.Millisecond))
		}
		if state.Type == "hash" {
			state.Value = hash(k.Content.Fields)
		}
		keys = append(keys, state)
	}
	slices.SortFunc(keys, func(a, b history.KeyState) int { return cmp.Compare(a.Key, b.Key) })
	return keys, nil
}

// lookOptions describes the node for looks at its keys.
func (e *env) lookOptions(n *node) look.Options {
	o := look.Options{Cluster: e.cluster != nil}
	if n.named != nil { // the server's other users may have too many keys to look at
		o.Names = n.named.all
	}
	return o
}

// hash returns fields as "field=value ...", sorted.
func hash(fields []history.Field) history.Bytes {
	var pairs []string
	for _, f := range fields {
		pairs = append(pairs, string(f.Name+"="+f.Value))
	}
	slices.Sort(pairs)
	return history.Bytes(strings.Join(pairs, " "))
}

// number returns a number in a section of INFO.
func number(ctx context.Context, c *redis.Client, section, field string) (int, error) {
	info, err := c.InfoMap(ctx, section).Result()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(info[strings.ToUpper(section[:1])+section[1:]][field])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", field, err)
	}
	return n, nil
}

// List implements testbed.Inspector.
func (e *env) List() []string { return nodeNames(e.serving()) }
