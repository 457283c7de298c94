package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// watchedEnv is a world whose primary is elected by Sentinels.
type watchedEnv struct {
	ownEnv
	*elections
}

var (
	_ testbed.Nodes      = watchedEnv{}
	_ testbed.SplitBrain = watchedEnv{}
	_ testbed.Elections  = watchedEnv{}
)

// Promote implements testbed.Nodes. It only waits until every Sentinel says that this
// node is the primary; the caller must cause the failover.
func (e watchedEnv) Promote(ctx context.Context, node string) error {
	n, err := e.node(node)
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	if e.present() == n {
		if old, _ := e.rivals(); old == nil && e.chosen(ctx, e.watchers.all[0], n) == nil {
			return fmt.Errorf("promote: node %s is the primary", node)
		}
	}
	if err := e.await(ctx, n); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	return nil
}

// await returns when every Sentinel calls the node the primary. The error contains the
// state of the first Sentinel that does not.
func (e *env) await(ctx context.Context, n *node) error {
	for _, s := range e.watchers.all {
		for {
			why := e.chosen(ctx, s, n)
			if why == nil {
				break
			}
			select {
			case <-time.After(pollEvery):
			case <-ctx.Done():
				return fmt.Errorf("%s did not make %s the primary: %w, %w", s.name, n.name, why, ctx.Err())
			}
		}
	}
	return nil
}

// chosen is nil if the Sentinel calls the node the primary; else it contains the
// Sentinel's state.
func (e *env) chosen(ctx context.Context, s, n *node) error {
	return s.ask(context.WithoutCancel(ctx), func(c *redis.Client) error {
		addr, err := asSentinel(c).primary(ctx)
		if err == nil && addr != e.watchers.doors[n].announced() {
			err = errors.New(asSentinel(c).state(ctx))
		}
		return err
	})
}

// present is the node that was promoted last.
func (e *env) present() *node {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.primary
}

// StopReplication implements testbed.Nodes. It holds only what the primary sends to its
// replicas, not what it sends to others.
func (e watchedEnv) StopReplication(context.Context) (testbed.Undo, error) {
	primary := e.present()
	var entries []entry
	for _, r := range e.nodes {
		if r != primary {
			entries = append(entries, entry{r.name, e.watchers.doors[primary]})
		}
	}
	undos, err := disturbAll(entries, testbed.Downstream, (*valve).hold)
	if err != nil {
		return nil, fmt.Errorf("stop replication: %w", err)
	}
	return once(func(ctx context.Context) (int, error) {
		most := 0
		for _, undo := range undos {
			hits, _ := undo(ctx)
			most = max(most, hits)
		}
		return most, nil
	}), nil
}

// Kill implements testbed.Nodes.
func (e watchedEnv) Kill(ctx context.Context, node string, down func() error) error {
	failed := e.killed(node)
	if err := e.ownEnv.Kill(ctx, node, down); err != nil {
		failed()
		return err
	}
	n, _ := e.node(node)
	e.deposed(n)
	return nil
}

// Restart implements testbed.Nodes. An old primary is started as a replica: Sentinels
// would take ten seconds to demote it.
func (e watchedEnv) Restart(ctx context.Context, node string) (lost history.Lost, err error) {
	n, err := e.node(node)
	if err != nil {
		return lost, err
	}
	if err := ctx.Err(); err != nil {
		return lost, err
	}
	failed := e.killed(node) // even if it was replaced, its restart explains elections
	defer func() {
		if err == nil {
			e.restarted(node)
		} else {
			failed()
		}
	}()
	var args []string
	if primary := e.present(); primary != n {
		host, port := e.watchers.doors[primary].addr()
		args = []string{"--replicaof", host, port}
	}
	return n.restart(e.ctx, args...)
}

// Pause implements testbed.Nodes. When resumed, a replaced primary executes the waiting
// commands and is then made a replica, which Sentinels would do ten seconds later.
func (e watchedEnv) Pause(ctx context.Context, node string) (testbed.Undo, error) {
	healed := e.provoke()
	resume, err := e.ownEnv.Pause(ctx, node)
	if err != nil {
		healed()
		return nil, err
	}
	return once(func(ctx context.Context) (int, error) {
		defer healed()
		hits, err := resume(ctx)
		return hits, errors.Join(err, e.retire(ctx))
	}), nil
}

// Unplug implements testbed.Unplugger. When plugged in, a replaced primary is made a
// replica, as after Pause.
func (e watchedEnv) Unplug(ctx context.Context, node string) (testbed.Undo, error) {
	healed := e.provoke()
	plug, err := e.ownEnv.Unplug(ctx, node)
	if err != nil {
		healed()
		return nil, err
	}
	return once(func(ctx context.Context) (int, error) {
		defer healed()
		hits, err := plug(ctx)
		return hits, errors.Join(err, e.retire(ctx))
	}), nil
}

// retire makes the old primary, if it still runs, a replica of the new one and ends its
// connections, as Sentinels do after some time.
func (e watchedEnv) retire(ctx context.Context) error {
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
	host, port := e.watchers.doors[heir].addr()
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

// Cut implements testbed.Network, also for the links among nodes and Sentinels. On a link
// of a replaced primary, the undo makes that primary a replica, as after Pause.
func (e watchedEnv) Cut(ctx context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.disturb(ctx, l, d, e.ownEnv.Cut, (*valve).cut)
}

// Hold implements testbed.Network, also for the links among nodes and Sentinels.
func (e watchedEnv) Hold(ctx context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	return e.disturb(ctx, l, d, e.ownEnv.Hold, (*valve).hold)
}

type disturbance func(context.Context, testbed.Link, testbed.Direction) (testbed.Undo, error)

func (e watchedEnv) disturb(ctx context.Context, l testbed.Link, d testbed.Direction, otherwise disturbance, how func(*valve) func()) (testbed.Undo, error) {
	pair, err := e.pair(l)
	switch {
	case err != nil:
		return nil, err
	case pair == nil:
		return otherwise(ctx, l, d)
	case !slices.Contains(directionsKnown, d):
		return otherwise(ctx, l, d) // it refuses the direction
	}
	healed := e.provoke()
	undo := pair.disturb(d, how)
	return once(func(ctx context.Context) (int, error) {
		defer healed()
		hits, err := undo(ctx)
		if old, _ := e.rivals(); old != nil && (l.From == old.name || l.To == old.name) {
			err = errors.Join(err, e.retire(ctx))
		}
		return hits, err
	}), nil
}

var directionsKnown = []testbed.Direction{testbed.Upstream, testbed.Downstream, testbed.Both}

// pair finds the proxy of a link between two servers, or between a client and a
// Sentinel; nil if it is neither.
func (e watchedEnv) pair(l testbed.Link) (*proxy, error) {
	for n, d := range e.watchers.doors {
		if n.name != l.To {
			continue
		}
		if i := slices.IndexFunc(e.watchers.asides, func(a *aside) bool { return a.leads(l) }); i >= 0 {
			return e.watchers.asides[i].proxy, nil
		}
		if !slices.ContainsFunc(slices.Concat(e.nodes, e.watchers.all), func(p *node) bool { return p.name == l.From && p != n }) {
			return nil, nil
		}
		return d.pair(l.From)
	}
	return nil, nil
}
