package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// Split implements testbed.SplitBrain by a network partition: on one side the primary,
// one Sentinel, and the clients that stay; on the other the replicas, the majority of
// Sentinels, and the given clients. The given clients are not served until the majority
// has promoted the node, some two seconds later.
//
// The undo waits for the promotion, heals the network, waits until all Sentinels agree,
// and makes the old primary a replica at once; Sentinels would do that ten seconds later.
// Hits counts the writes that the old primary acknowledged after the cut; 0 if nobody was
// promoted in time.
func (e watchedEnv) Split(ctx context.Context, node string, clients []int) (testbed.Undo, error) {
	heir, old, err := e.ownEnv.heir(node)
	if err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	for _, id := range clients {
		if id < 0 || id >= len(e.clients) {
			return nil, fmt.Errorf("split brain: no client %d", id)
		}
	}
	heal, err := e.fallApart(ctx, old, clients)
	if err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	return once(func(ctx context.Context) (int, error) {
		err := e.elects(ctx, heir)
		heal()
		if err != nil {
			old.closeLedger()
			return 0, nil // there were no two primaries
		}
		err = e.await(ctx, heir)
		err = errors.Join(err, e.retire(ctx))
		writes := old.closeLedger()
		if err != nil {
			return writes, fmt.Errorf("end of split brain: %w", err)
		}
		return writes, nil
	}), nil
}

// fallApart cuts the primary, one Sentinel, and the clients not in others off from the
// rest.
func (e watchedEnv) fallApart(ctx context.Context, old *node, others []int) (heal func(), err error) {
	if !old.take(ctx.Done()) {
		return nil, ctx.Err()
	}
	defer old.release()
	if _, err := old.running(); err == nil { // else it will acknowledge nothing
		if err := old.openLedger(ctx); err != nil {
			return nil, err
		}
	}
	healed := e.provoke()
	var undos []func()
	heal = func() {
		for _, undo := range undos {
			undo()
		}
		healed()
	}
	minority := []string{old.name, e.watchers.all[0].name}
	for id, c := range e.clients {
		if !slices.Contains(others, id) {
			minority = append(minority, c.Locks().ID)
		}
	}
	for _, p := range e.ways() {
		if slices.Contains(minority, p.from) == slices.Contains(minority, p.to) {
			continue
		}
		proxy, err := p.proxy()
		if err != nil {
			heal()
			old.closeLedger()
			return nil, err
		}
		undos = append(undos, proxy.shut(testbed.Both, (*valve).cut))
	}
	return heal, nil
}

// way is the link between two ends.
type way struct {
	from, to string
	proxy    func() (*proxy, error)
}

// ways are all links of the world.
func (e *env) ways() []way {
	var all []way
	servers := slices.Concat(e.nodes, e.watchers.all)
	for _, to := range servers {
		for _, from := range servers {
			if from != to {
				all = append(all, way{from.name, to.name, func() (*proxy, error) { return e.watchers.doors[to].pair(from.name) }})
			}
		}
	}
	for _, c := range e.clients {
		for i, l := range c.links {
			all = append(all, way{c.Locks().ID, e.nodes[i].name, func() (*proxy, error) { return l.proxy, nil }})
		}
	}
	for _, a := range e.watchers.asides {
		all = append(all, way{fmt.Sprintf("c%d", a.client), a.sentinel.name, func() (*proxy, error) { return a.proxy, nil }})
	}
	return all
}

// patienceWithElections is how long an election may take: the first attempt sometimes
// fails, and the next comes after twice the failover timeout.
const patienceWithElections = downAfter + 2*failoverTimeout + 5*time.Second

// elects waits until the node is a primary.
func (e watchedEnv) elects(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, patienceWithElections)
	defer cancel()
	for e.present() != n {
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
