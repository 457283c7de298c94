package live

import (
	"sync"
	"time"
)

// provocation tells elections caused by a fault from those caused by a machine too busy
// for a healthy node. A fault explains elections while it is in force and for grace after
// its heal, the longest that an election caused by it may take.
type provocation struct {
	grace time.Duration

	mu     sync.Mutex
	faults int             // in force, not counting killed nodes
	down   map[string]bool // nodes that were killed and are neither back nor replaced
	until  time.Time       // end of the grace after the last heal
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

// killed notes that the node is down, until restarted or replaced. Failed takes the note
// back, if the operation failed.
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

// replaced notes that another node was elected in place of this one. If this node was
// killed, the kill explains elections for one more grace only.
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

// explains says whether a fault explains an election that is noticed now.
func (p *provocation) explains() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults > 0 || len(p.down) > 0 || time.Now().Before(p.until)
}
