package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// provocation distinguishes elections that a fault caused from elections that happened because the
// machine was too busy for a healthy node to answer. A fault explains elections while it is in
// force and for grace after its heal. grace is the longest time in which a healed fault may still
// cause an election.
type provocation struct {
	grace time.Duration

	mu     sync.Mutex
	faults int             // number of faults in force, not counting kills
	down   map[string]bool // nodes that were killed and are neither back nor replaced
	until  time.Time       // end of the grace after the last heal, restart or replacement
}

// provoke notes that a fault of nodes, or of a serverLink, is in force until healed.
func (p *provocation) provoke() (healed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults--
		p.until = time.Now().Add(p.grace)
	}
}

// during calls cause, which begins a fault. The fault counts as in force until the returned undo
// has run. That undo ends with a call of after.
func (p *provocation) during(cause func() (testbed.Undo, error), after func(context.Context) error) (testbed.Undo, error) {
	healed := p.provoke()
	undo, err := cause()
	if err != nil {
		healed()
		return nil, err
	}
	return once(func(ctx context.Context) (int, error) {
		defer healed()
		hits, err := undo(ctx)
		return hits, errors.Join(err, after(ctx))
	}), nil
}

// disturbance is Network.Cut or Network.Hold.
type disturbance func(context.Context, testbed.Link, testbed.Direction) (testbed.Undo, error)

// serverLink is a link between two servers, or between a client and a Sentinel.
type serverLink struct {
	proxies []*proxy                    // the first proxy carries commands, the other proxies do not
	healed  func(context.Context) error // called after the undo of a cut or hold
}

// disturb applies a rule to a serverLink. For an unknown direction d, it calls otherwise,
// which returns an error.
func (p *provocation) disturb(ctx context.Context, between serverLink, l testbed.Link, d testbed.Direction, otherwise disturbance, r rule) (testbed.Undo, error) {
	if !slices.Contains(directionsKnown, d) {
		return otherwise(ctx, l, d)
	}
	return p.during(func() (testbed.Undo, error) {
		var undos []testbed.Undo
		for _, one := range between.proxies {
			undos = append(undos, one.disturb(d, r))
		}
		return func(ctx context.Context) (int, error) {
			hits, err := undos[0](ctx)
			for _, undo := range undos[1:] {
				_, more := undo(ctx)
				err = errors.Join(err, more)
			}
			return hits, err
		}, nil
	}, between.healed)
}

// killed notes that the node is down, until restarted or replaced is called. If the kill fails, the
// caller must call failed, which withdraws the note. If the node was down already, failed does nothing.
func (p *provocation) killed(node string) (failed func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down[node] {
		return func() {}
	}
	if p.down == nil {
		p.down = map[string]bool{}
	}
	p.down[node] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.down, node)
	}
}

// replaced notes that another node was elected in place of this node. If this node was killed, the
// kill explains further elections only for another grace period.
func (p *provocation) replaced(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down[node] {
		delete(p.down, node)
		p.until = time.Now().Add(p.grace)
	}
}

// restarted notes that the node is back. Its kill explains elections for one more grace period.
func (p *provocation) restarted(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.down, node)
	p.until = time.Now().Add(p.grace)
}

// explains reports whether a fault explains an election that is noticed now.
func (p *provocation) explains() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults > 0 || len(p.down) > 0 || time.Now().Before(p.until)
}
