package live

import (
	"sync"
	"time"
)

// provocation tells elections that a fault explains from those of a machine that
// left a healthy node no time. A fault explains them while it is in force, and for
// as long after its heal as one that it led to may take.
type provocation struct {
	grace time.Duration

	mu     sync.Mutex
	faults int             // in force, but for nodes that are down
	down   map[string]bool // nodes that were killed and are neither back nor replaced
	until  time.Time       // the grace of what was healed last
}

// provoke notes that a fault strikes nodes, or the links between servers, until
// healed is called.
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

// killed notes that the node is down, until restarted or replaced. Failed takes that
// back: nothing has become of it.
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

// replaced notes that another node was elected in place of this one. If it is down,
// that has led to all it can.
func (p *provocation) replaced(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down[node] {
		delete(p.down, node)
		p.until = time.Now().Add(p.grace)
	}
}

// restarted notes that the node is back.
func (p *provocation) restarted(node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.down, node)
	p.until = time.Now().Add(p.grace)
}

// explains says whether an election that is heard of now has a fault for a cause.
func (p *provocation) explains() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults > 0 || len(p.down) > 0 || time.Now().Before(p.until)
}
