package foreign

import (
	"net"
	"sync"
)

// passage says how much of what a child has sent on a connection has passed to the node, so that the child's
// write may return. In the trial's own process a write returns then as well: a command that a fault holds at
// the gate, or for which a client is frozen, has not been sent yet, and no timeout for its reply runs.
type passage struct {
	Of    string `json:"of"` // the connection, as the child's end and ours name it
	Bytes int64  `json:"bytes,omitempty"`
	Ended bool   `json:"ended,omitempty"` // nothing passes any more
}

// connection names a connection from the child's address and the port's. A child's port alone would not do:
// connections to several nodes may share it.
func connection(child, port net.Addr) string { return child.String() + " " + port.String() }

// passing tells a child what passes on one connection. It is an io.Writer for what has passed.
type passing struct {
	tell func(passage)
	now  passage
}

// Write tells that p has passed.
func (w *passing) Write(p []byte) (int, error) {
	w.now.Bytes += int64(len(p))
	w.tell(w.now)
	return len(p), nil
}

func (w *passing) end() { w.tell(passage{Of: w.now.Of, Ended: true}) }

// passages are what a child knows of its own connections.
type passages struct {
	mu    sync.Mutex
	news  sync.Cond
	links map[string]*link
}

type link struct {
	passed        int64
	ended, closed bool // by the trial, by the child
}

func newPassages() *passages {
	p := &passages{links: map[string]*link{}}
	p.news.L = &p.mu
	return p
}

// note takes a passage that the trial tells.
func (p *passages) note(at passage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.links[at.Of]
	switch {
	case l == nil: // the trial may tell the end of a connection before the child knows that it has it
		p.links[at.Of] = &link{passed: at.Bytes, ended: at.Ended}
	case l.closed && at.Ended:
		delete(p.links, at.Of)
	default:
		l.passed, l.ended = max(l.passed, at.Bytes), l.ended || at.Ended
		p.news.Broadcast()
	}
}

// open begins a connection.
func (p *passages) open(of string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.links[of]; l == nil || l.closed {
		p.links[of] = new(link)
	}
}

// await returns when the first bytes of a connection have passed, or when the connection has ended.
func (p *passages) await(of string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := p.links[of]; l != nil && !l.ended && !l.closed && l.passed < bytes; {
		p.news.Wait()
	}
}

// close ends a connection on the child's side.
func (p *passages) close(of string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch l := p.links[of]; {
	case l == nil:
	case l.ended:
		delete(p.links, of)
	default:
		l.closed = true
	}
	p.news.Broadcast()
}
