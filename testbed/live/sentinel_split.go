package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// Split implements testbed.SplitBrain by a network partition. On one side are the primary, one
// Sentinel, and the clients that are not listed in clients. On the other side are the replicas, the
// majority of the Sentinels, and the listed clients. The listed clients are not served until the
// majority has promoted the node, about two seconds later.
//
// The undo waits for the promotion, heals the network, waits until all Sentinels agree, and makes
// the old primary a replica. Sentinels would demote it only ten seconds later. Hits is the number
// of writes that the old primary acknowledged after the cut; 0 if the node was not promoted in
// time.
func (e sentinelEnv) Split(ctx context.Context, node string, clients []int) (testbed.Undo, error) {
	heir, old, _, err := e.sides(node, clients)
	if err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	heal, err := e.fallApart(ctx, old, clients)
	if err != nil {
		return nil, fmt.Errorf("split brain: %w", err)
	}
	return once(func(ctx context.Context) (int, error) {
		err := e.elects(ctx, heir)
		heal()
		if err != nil {
			old.stopCounting()
			return 0, nil // there were never two primaries
		}
		err = e.await(ctx, heir)
		err = errors.Join(err, e.retire(ctx))
		writes := old.stopCounting()
		if err != nil {
			return writes, fmt.Errorf("end of split brain: %w", err)
		}
		return writes, nil
	}), nil
}

// fallApart cuts the network in two. On one side are the primary, one Sentinel, and the clients
// that are not in others. Everything else is on the other side.
func (e sentinelEnv) fallApart(ctx context.Context, old *node, others []int) (heal func(), err error) {
	if !old.take(ctx.Done()) {
		return nil, ctx.Err()
	}
	defer old.release()
	if err := old.startCounting(ctx); err != nil {
		return nil, err
	}
	healed := e.provoke()
	var undos []func()
	heal = func() {
		for _, undo := range undos {
			undo()
		}
		healed()
	}
	all := nodeNames(slices.Concat(e.nodes, e.sentinels.all))
	minority := map[string]bool{old.name: true, e.sentinels.all[0].name: true}
	for id, c := range e.clients {
		all = append(all, c.Locks().ID)
		minority[c.Locks().ID] = !slices.Contains(others, id)
	}
	for _, from := range all {
		for _, to := range all {
			if minority[from] == minority[to] {
				continue
			}
			for _, p := range e.proxies.between(testbed.Link{From: from, To: to}) {
				undos = append(undos, p.impose(testbed.Both, always(drop)))
			}
		}
	}
	return heal, nil
}

// electionTimeout bounds how long an election may take. The first attempt sometimes fails,
// and the next attempt comes after twice the failover timeout.
const electionTimeout = downAfter + 2*failoverTimeout + 5*time.Second

// elects waits until the node is the primary.
func (e sentinelEnv) elects(ctx context.Context, n *node) error {
	ctx, cancel := context.WithTimeout(ctx, electionTimeout)
	defer cancel()
	return until(ctx, func() (string, error) {
		if e.present() != n {
			return n.name + " is not the primary", nil
		}
		return "", nil
	})
}
