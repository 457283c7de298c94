package live

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// Migrate implements testbed.Slots with the steps that the specification of Redis Cluster
// prescribes: SETSLOT IMPORTING and MIGRATING, MIGRATE, SETSLOT NODE.
func (e clusterEnv) Migrate(ctx context.Context, from, to string, moved func(from, to string, keys []history.KeyState) error) (testbed.Undo, error) {
	m, err := e.migration(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("move slots: %w", err)
	}
	finish := once(func(ctx context.Context) (int, error) {
		if err := m.finish(ctx); err != nil {
			return m.keys, fmt.Errorf("move slots: %w", err)
		}
		return m.keys, nil
	})
	if err = m.begin(ctx); err == nil {
		err = m.move(ctx, moved)
	}
	if err != nil {
		return nil, fmt.Errorf("move slots: %w", errors.Join(err, m.abandon(context.WithoutCancel(ctx))))
	}
	return finish, nil
}

// migration is a move of slots from one master to another.
type migration struct {
	clusterEnv
	from, to *node
	slots    []int64
	link     *proxy // the source node's proxy to the target node
	door     *door  // of link
	keys     int    // number of moved keys
}

// migration returns a migration of all slots in which from's master has keys.
func (e clusterEnv) migration(ctx context.Context, from, to string) (*migration, error) {
	m := &migration{clusterEnv: e}
	var err error
	if m.from, err = e.masterOf(from); err != nil {
		return nil, err
	}
	if m.to, err = e.masterOf(to); err != nil {
		return nil, err
	}
	if m.from == m.to {
		return nil, fmt.Errorf("%s and %s are one master", from, to)
	}
	m.slots, _, err = m.bySlot(ctx)
	return m, err
}

// bySlot returns the keys that the old master has now, by slot, and these slots in the order of the keys.
func (m *migration) bySlot(ctx context.Context) (slots []int64, all map[int64][]history.KeyState, err error) {
	keys, err := m.Keys(ctx, m.from.name)
	if err != nil {
		return nil, nil, err
	}
	all = map[int64][]history.KeyState{}
	err = m.from.ask(ctx, func(c *redis.Client) error {
		for _, k := range keys {
			slot, err := c.ClusterKeySlot(ctx, k.Key).Result()
			if err != nil {
				return err
			}
			if all[slot] == nil {
				slots = append(slots, slot)
			}
			all[slot] = append(all[slot], k)
		}
		return nil
	})
	return slots, all, err
}

// masterOf returns the present master of the node's shard.
func (e clusterEnv) masterOf(name string) (*node, error) {
	n, err := e.node(name)
	if err != nil {
		return nil, err
	}
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	return e.shardOf(n).present(), nil
}

func (m *migration) begin(ctx context.Context) (err error) {
	if len(m.slots) == 0 {
		return nil
	}
	ip, _ := m.place.Listen()
	m.link, m.door, err = m.proxies.forward(m.from.name, m.to.name+" (slots)", ip, m.to.addr)
	if err != nil {
		return err
	}
	return errors.Join(
		m.set(ctx, m.to, "IMPORTING", serverID(m.from)),
		m.set(ctx, m.from, "MIGRATING", serverID(m.to)),
	)
}

// set sets the state of the slots at a node. id is a node's id, for a state that needs one.
func (m *migration) set(ctx context.Context, n *node, state string, id ...any) error {
	return n.ask(ctx, func(c *redis.Client) error {
		for _, slot := range m.slots {
			if err := c.Do(ctx, append([]any{"CLUSTER", "SETSLOT", slot, state}, id...)...).Err(); err != nil {
				return fmt.Errorf("%s slot %d at %s: %w", state, slot, n.name, err)
			}
		}
		return nil
	})
}

// move moves the keys while neither node executes anything else.
func (m *migration) move(ctx context.Context, moved func(from, to string, keys []history.KeyState) error) error {
	if len(m.slots) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	pair := []*node{m.from, m.to}
	slices.SortFunc(pair, func(a, b *node) int { return slices.Index(m.nodes, a) - slices.Index(m.nodes, b) })
	for _, n := range pair { // in a fixed order, to avoid deadlocks
		if !n.take(ctx.Done()) {
			return fmt.Errorf("%s is busy: %w", n.name, ctx.Err())
		}
		defer n.release()
		n.observer.look(cause{})
	}
	keys, commands, err := m.order(ctx)
	if err != nil || len(keys) == 0 {
		return err
	}
	from := m.from.clock()
	failed := m.from.ask(ctx, func(c *redis.Client) error {
		for _, command := range commands {
			if err := c.Do(ctx, command...).Err(); err != nil {
				return err
			}
		}
		return nil
	})
	// Check after an error and after a success: MIGRATE may have failed halfway, and keys that
	// expired meanwhile have not moved.
	gone, err := m.arrived(context.WithoutCancel(ctx), keys)
	for _, n := range pair {
		n.observer.look(cause{by: history.ByMigration, from: from, only: names(gone), likely: names(gone)})
	}
	if err != nil {
		return errors.Join(failed, err)
	}
	m.keys = len(gone)
	if len(gone) > 0 && moved != nil {
		// Report the move after it is done, but before a client can see it: neither node
		// executes a client's command until its turn is released.
		err = moved(m.from.name, m.to.name, gone)
	}
	return errors.Join(failed, err)
}

// order returns the keys that are in the slots now, and the commands that move them: one
// MIGRATE per slot, as Redis requires.
func (m *migration) order(ctx context.Context) (keys []history.KeyState, commands [][]any, err error) {
	host, port := m.door.addr()
	_, bySlot, err := m.bySlot(ctx)
	for _, slot := range m.slots {
		if len(bySlot[slot]) == 0 {
			continue
		}
		command := []any{"MIGRATE", host, port, "", 0, adminTimeout.Milliseconds(), "KEYS"}
		for _, k := range bySlot[slot] {
			command = append(command, k.Key)
		}
		keys, commands = append(keys, bySlot[slot]...), append(commands, command)
	}
	return keys, commands, err
}

// arrived returns the keys that are on the new master and no longer on the old master. A key on
// both has not moved.
func (m *migration) arrived(ctx context.Context, keys []history.KeyState) ([]history.KeyState, error) {
	left, err := m.Keys(ctx, m.from.name)
	if err != nil {
		return nil, err
	}
	there, err := m.Keys(ctx, m.to.name)
	moved := names(there)
	for _, k := range left {
		moved = slices.DeleteFunc(moved, func(name string) bool { return name == k.Key })
	}
	return slices.DeleteFunc(keys, func(k history.KeyState) bool { return !slices.Contains(moved, k.Key) }), err
}

// abandon ends a failed move. The new master gets the slots in which the old master has no keys any
// more. If no key has moved, or if the old master does not answer, the old master keeps all slots.
func (m *migration) abandon(ctx context.Context) error {
	if m.link == nil {
		return nil
	}
	stay, err := m.slots, error(nil)
	if m.keys > 0 {
		var left []int64
		if left, _, err = m.bySlot(ctx); err == nil {
			stay = slices.DeleteFunc(slices.Clone(m.slots), func(slot int64) bool { return !slices.Contains(left, slot) })
		}
	}
	m.slots = slices.DeleteFunc(slices.Clone(m.slots), func(slot int64) bool { return slices.Contains(stay, slot) })
	errs := []error{err, m.finish(ctx)}
	m.slots = stay
	for _, n := range []*node{m.from, m.to} {
		if _, err := n.running(); err == nil {
			errs = append(errs, m.set(ctx, n, "STABLE"))
		}
	}
	return errors.Join(errs...)
}

// finish gives the slots to the new master. It tells the new master first, then the old master,
// then the other masters.
func (m *migration) finish(ctx context.Context) error {
	if m.link == nil {
		return nil
	}
	defer m.link.close()
	m.door.close()
	told := []*node{m.to, m.from}
	for _, n := range m.masters() {
		if !slices.Contains(told, n) {
			told = append(told, n)
		}
	}
	for _, n := range told {
		if _, err := n.running(); err != nil {
			continue // n will learn of the move from the other nodes
		}
		if err := m.set(ctx, n, "NODE", serverID(m.to)); err != nil {
			return err
		}
	}
	return nil
}
