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
	minority := []string{old.name, e.sentinels.all[0].name}
	for id, c := range e.clients {
		if !slices.Contains(others, id) {
			minority = append(minority, c.Locks().ID)
		}
	}
	for _, p := range e.allLinks() {
		if slices.Contains(minority, p.from) == slices.Contains(minority, p.to) {
			continue
		}
		undos = append(undos, p.proxy.impose(testbed.Both, always(drop)))
	}
	return heal, nil
}

// linkEnds is a link and its two ends.
type linkEnds struct {
	from, to string
	proxy    *proxy
}

func (e *env) allLinks() []linkEnds {
	var all []linkEnds
	servers := slices.Concat(e.nodes, e.sentinels.all)
	for _, to := range servers {
		for _, from := range servers {
			if from != to {
				all = append(all, linkEnds{from.name, to.name, e.sentinels.peerProxies[to].pair(from.name)})
			}
		}
	}
	for _, c := range e.clients {
		for i, l := range c.links {
			all = append(all, linkEnds{c.Locks().ID, e.nodes[i].name, l.proxy})
		}
	}
	for _, a := range e.sentinels.links {
		all = append(all, linkEnds{fmt.Sprintf("c%d", a.client), a.sentinel.name, a.proxy})
	}
	return all
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
