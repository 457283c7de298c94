package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// Evict implements testbed.Memory. It sets maxmemory to 1 byte for a moment, so that Redis itself evicts.
// The node executes no client's command until the function evicted has returned; clients see only that the
// keys are gone.
func (e ownEnv) Evict(ctx context.Context, node string, evicted func([]history.KeyState) error) (keys []history.KeyState, err error) {
	n, err := e.node(node)
	if err != nil {
		return nil, err
	}
	if !n.take(ctx.Done()) {
		return nil, fmt.Errorf("evict the keys of node %s: %w", node, ctx.Err())
	}
	defer n.release()
	n.observer.look(cause{})
	from := n.clock()
	there, err := e.keysOf(ctx, n)
	if err == nil && len(there) > 0 {
		err = n.ask(ctx, func(c *redis.Client) (err error) {
			keys, err = evict(ctx, c, there)
			return err
		})
	}
	n.aof.answered(n.clock())
	n.observer.look(cause{by: history.ByEviction, from: from, only: names(keys)})
	if err == nil && evicted != nil && len(keys) > 0 {
		err = evicted(keys)
	}
	if err != nil {
		return nil, fmt.Errorf("evict the keys of node %s: %w", node, err)
	}
	return keys, nil
}

// names returns the names of keys, never nil.
func names(keys []history.KeyState) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.Key
	}
	return all
}

// evict makes a node evict all its keys, and returns those of the keys there that Redis reports as evicted. A
// key that expires meanwhile is not returned.
func evict(ctx context.Context, c *redis.Client, there []history.KeyState) ([]history.KeyState, error) {
	before, err := number(ctx, c, "stats", "evicted_keys")
	if err != nil {
		return nil, err
	}
	pubsub := c.Subscribe(ctx, "__keyevent@0__:evicted")
	defer pubsub.Close()
	if _, err := pubsub.Receive(ctx); err != nil { // the confirmation of SUBSCRIBE
		return nil, err
	}
	restore, err := starve(ctx, c)
	if err == nil {
		err = awaitEmpty(ctx, c)
	}
	if err = errors.Join(err, restore()); err != nil {
		return nil, err
	}
	after, err := number(ctx, c, "stats", "evicted_keys")
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for range after - before {
		m, err := pubsub.ReceiveTimeout(ctx, adminTimeout)
		if err != nil {
			return nil, fmt.Errorf("which keys were evicted: %w", err)
		}
		if m, ok := m.(*redis.Message); ok {
			names[m.Payload] = true
		}
	}
	return slices.DeleteFunc(there, func(k history.KeyState) bool { return !names[k.Key] }), nil
}

// starve leaves the node no memory for keys and makes the node publish the keys that it evicts.
// restore restores the node's configuration, and must be called even after an error.
func starve(ctx context.Context, c *redis.Client) (restore func() error, err error) {
	var former [][2]string
	restore = func() error {
		ctx := context.WithoutCancel(ctx) // restore the configuration in any case
		var errs []error
		for _, f := range slices.Backward(former) {
			errs = append(errs, c.ConfigSet(ctx, f[0], f[1]).Err())
		}
		return errors.Join(errs...)
	}
	for _, s := range [][2]string{
		{"notify-keyspace-events", "Ee"},
		{"replica-ignore-maxmemory", "no"},
		{"maxmemory-policy", "allkeys-random"},
		{"maxmemory", "1"},
	} {
		was, err := c.ConfigGet(ctx, s[0]).Result()
		if err == nil {
			err = c.ConfigSet(ctx, s[0], s[1]).Err()
		}
		if err != nil {
			return restore, fmt.Errorf("set %s: %w", s[0], err)
		}
		former = append(former, [2]string{s[0], was[s[0]]})
	}
	return restore, nil
}

// awaitEmpty fails if the node still has keys after adminTimeout.
func awaitEmpty(ctx context.Context, c *redis.Client) error {
	timeout, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return until(timeout, func() (string, error) {
		left, err := c.DBSize(ctx).Result()
		if err != nil || left == 0 {
			return "", err
		}
		return fmt.Sprintf("%d keys are left", left), nil
	})
}
