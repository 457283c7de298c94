package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
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

// killed notes that the node is down, until restart or replaced is called. If the kill fails, the
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

// restart calls do, which restarts the node; that may be a node that another one has replaced. The kill or
// restart explains elections until then, and for one more grace period.
func (p *provocation) restart(node string, do func() (history.Lost, error)) (history.Lost, error) {
	failed := p.killed(node)
	lost, err := do()
	if err != nil {
		failed()
		return lost, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.down, node)
	p.until = time.Now().Add(p.grace)
	return lost, nil
}

// explains reports whether a fault explains an election that is noticed now.
func (p *provocation) explains() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults > 0 || len(p.down) > 0 || time.Now().Before(p.until)
}
