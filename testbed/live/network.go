package live

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// network is the set of hit counters, one per fault in force.
type network struct {
	mu       sync.Mutex
	counters []*hitCounter
}

// hitCounter counts the commands that a fault hit.
type hitCounter struct {
	hit   func(history.Command) bool
	from  int          // commands with a lower index do not count, except those in early
	early map[int]bool // commands that were outstanding when the counter started
	seen  map[int]bool // the commands that were hit
}

func (w *hitCounter) look(c history.Command) {
	if (c.Index >= w.from || w.early[c.Index]) && w.hit(c) {
		w.seen[c.Index] = true
	}
}

// saw passes a command to all counters once the command's outcome is final.
func (n *network) saw(c history.Command) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.counters {
		w.look(c)
	}
}

// countHits starts counting the commands for which hit returns true.
func (e *env) countHits(hit func(history.Command) bool) *hitCounter {
	w := &hitCounter{hit: hit, from: math.MaxInt, early: map[int]bool{}, seen: map[int]bool{}}
	e.network.mu.Lock()
	e.network.counters = append(e.network.counters, w)
	e.network.mu.Unlock()
	// The fault begins after countHits returns, so a command that ends before from is set does not
	// count.
	from, open := e.gate.Next(), e.gate.Outstanding()
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	w.from = from
	for _, c := range open {
		w.early[c.Index] = true
	}
	return w
}

// count ends the counter and returns how many commands the fault hit.
func (e *env) count(w *hitCounter) int {
	open := e.gate.Outstanding()
	e.network.mu.Lock()
	defer e.network.mu.Unlock()
	for _, c := range open {
		w.look(c)
	}
	e.network.counters = slices.DeleteFunc(e.network.counters, func(other *hitCounter) bool { return other == w })
	return len(w.seen)
}

// undoTimeout bounds how long an undo waits for the fault's consequences: the slowest election,
// then the slowest answer of a server. The nemesis must wait longer.
const undoTimeout = electionTimeout + adminTimeout + 3*time.Second

// once returns an undo whose first call calls end. Later calls return the same hits, and no error.
func once(end func(context.Context) (int, error)) testbed.Undo {
	var mu sync.Mutex
	var done bool
	var hits int
	return func(ctx context.Context) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return hits, nil
		}
		// The undo must run even if ctx has ended, but within a time limit.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		var err error
		hits, err = end(ctx)
		done = true
		return hits, err
	}
}

// undoAll returns an undo that runs all undos and combines their hits. It ignores their errors.
func undoAll(undos []testbed.Undo, combine func(a, b int) int) testbed.Undo {
	return once(func(ctx context.Context) (int, error) {
		all := 0
		for _, undo := range undos {
			hits, _ := undo(ctx)
			all = combine(all, hits)
		}
		return all, nil
	})
}

// Cut implements testbed.Network, also for links between servers, and from clients to Sentinels. On a
// primary's link, while Sentinels have elected another one, the undo makes that primary a replica, as the undo
// of Pause does. So does the undo of Hold.
func (e *env) Cut(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	l.Conn = 0
	return e.shut(l, d, always(drop))
}

// Hold implements testbed.Network.
func (e *env) Hold(_ context.Context, l testbed.Link, d testbed.Direction) (testbed.Undo, error) {
	if l.Conn == 0 {
		return e.shut(l, d, always(hold))
	}
	c, target, err := e.link(l)
	if err != nil {
		return nil, err
	}
	one := target.number(known{c, l.To, l.Conn})
	return e.shut(l, d, func(conn int) verdict { // packets of other connections may overtake the held ones
		if conn == one {
			return hold
		}
		return pass
	})
}

// shut applies a rule that drops or holds to a link.
func (e *env) shut(on testbed.Link, d testbed.Direction, r rule) (testbed.Undo, error) {
	if !slices.Contains(directionsKnown, d) {
		return nil, fmt.Errorf("direction %q: want %s, %s or %s", d, testbed.Upstream, testbed.Downstream, testbed.Both)
	}
	id, l, err := e.link(on)
	if err != nil {
		if pairs := e.proxies.between(on); len(pairs) > 0 {
			return e.disturb(pairs, on, d, r)
		}
		return nil, err
	}
	w := e.countHits(func(c history.Command) bool {
		return l.carries(c.Client, c.Node) && (on.Conn == 0 || on.Conn == c.Conn && id == c.Client) && stopped(c, d)
	})
	undo := l.proxy.impose(d, r)
	return once(func(context.Context) (int, error) {
		hits := e.count(w)
		undo()
		return hits, nil
	}), nil
}

// disturb applies a rule to the proxies of a link between two servers, or from a client to a Sentinel. Hits is that of
// the first proxy, which carries commands.
func (e *env) disturb(pairs []*proxy, on testbed.Link, d testbed.Direction, r rule) (testbed.Undo, error) {
	begin := func() (testbed.Undo, error) {
		first, others := pairs[0].disturb(d, r), make([]func(), len(pairs)-1)
		for i, one := range pairs[1:] {
			others[i] = one.impose(d, r)
		}
		return func(ctx context.Context) (int, error) {
			hits, err := first(ctx)
			for _, undo := range others {
				undo()
			}
			return hits, err
		}, nil
	}
	switch {
	case e.cluster != nil:
		return e.cluster.during(begin, func(context.Context) error { return nil })
	case e.sentinels != nil:
		return e.sentinels.during(begin, func(ctx context.Context) error {
			if old, _ := e.sentinels.rivals(); old == nil || on.From != old.name && on.To != old.name {
				return nil
			}
			return sentinelEnv{ownEnv{e}, e.sentinels}.retire(ctx)
		})
	}
	return begin()
}

// stopped reports whether a command or its reply, depending on d, did not get through.
func stopped(c history.Command, d testbed.Direction) bool {
	request, reply := c.Arrived == 0, c.Served > 0 && c.Replied == 0
	switch d {
	case testbed.Upstream:
		return request
	case testbed.Downstream:
		return reply
	default:
		return request || reply
	}
}

// Reset implements testbed.Network. Existing connections are reset at once, later ones at their first
// command. Hits is the number of reset connections with a command that was under way or sent later.
// Reset idle connections do not count: replacing them disturbs nobody.
func (e *env) Reset(_ context.Context, on testbed.Link) (testbed.Undo, error) {
	_, l, err := e.link(on)
	if err != nil {
		return nil, err
	}
	unanswered := map[known]bool{}
	w := e.countHits(func(c history.Command) bool {
		missed := l.carries(c.Client, c.Node) && c.Replied == 0
		if missed {
			unanswered[known{c.Client, c.Node, c.Conn}] = true
		}
		return missed
	})
	undo := l.resetAll()
	return once(func(context.Context) (int, error) {
		undo()
		e.count(w) // after this, the counter does not write to unanswered
		return l.resets(unanswered), nil
	}), nil
}

// link returns a client and its link to a node. In a replicated topology, a client's only link
// stands for every node: after a promotion, or while there are two primaries, a plan may name a
// node that the link does not lead to.
func (e *env) link(l testbed.Link) (client int, target *link, err error) {
	for id, c := range e.clients {
		if c.Locks().ID != l.From {
			continue
		}
		for _, found := range c.links {
			if found.leadsTo(l.To) {
				return id, found, nil
			}
		}
		if _, err := e.node(l.To); err == nil && e.present() != nil {
			return id, c.links[0], nil
		}
	}
	return 0, nil, fmt.Errorf("no link from %s to %s", l.From, l.To)
}
