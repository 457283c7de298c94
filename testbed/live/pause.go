package live

import (
	"context"
	"fmt"
	"sync"
)

// pause is a period in which a node's server is paused.
type pause struct {
	server Server
	asked  int // number of freezes that no thaw has undone yet
	// release releases the node's turn, once. The turn is held during the pause: a command that has
	// begun is answered before the pause, and a later command waits in front of the node, so that
	// it certainly runs after the pause.
	release func()
}

// freeze pauses the node's server until thaw has been called as often as freeze, or until
// the server is killed.
func (n *node) freeze(ctx context.Context) (thaw func() error, err error) {
	s, err := n.running()
	if err != nil {
		return nil, fmt.Errorf("pause: %w", err)
	}
	n.pausing.Lock()
	defer n.pausing.Unlock()
	if n.paused == nil || n.paused.server != s {
		if n.paused, err = n.stop(ctx, s); err != nil {
			return nil, fmt.Errorf("pause node %s: %w", n.name, err)
		}
	}
	p := n.paused
	p.asked++
	return func() error { return n.thaw(p) }, nil
}

// stop waits for the node's turn, so that no command is being executed, and pauses the server.
func (n *node) stop(ctx context.Context, s Server) (*pause, error) {
	if !n.take(ctx.Done()) {
		return nil, ctx.Err()
	}
	p := &pause{server: s, release: sync.OnceFunc(n.release)}
	if err := s.Pause(); err != nil {
		p.release()
		return nil, err
	}
	n.watch.Go(func() {
		<-s.Exited()
		p.release()
	})
	return p, nil
}

// thaw undoes one freeze.
func (n *node) thaw(p *pause) error {
	n.pausing.Lock()
	defer n.pausing.Unlock()
	if p.asked--; p.asked > 0 {
		return nil
	}
	if n.paused == p {
		n.paused = nil
	}
	defer p.release()
	if now, err := n.running(); err != nil || now != p.server {
		return nil // the server was killed during the pause
	}
	return p.server.Resume()
}
