package live

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstorm/lockstorm/testbed"
)

// Pluggable is a Server on a network of its own.
type Pluggable interface {
	Server
	// Unplug takes it off the network. Connections to it break.
	Unplug() error
	// Plug brings it back on the network, under its old address for other servers. Its
	// Addr may change. If it has been killed, the next start in its place is on the
	// network.
	Plug() error
}

var _ testbed.Unplugger = ownEnv{}

// Unplug implements testbed.Unplugger.
func (e ownEnv) Unplug(_ context.Context, node string) (testbed.Undo, error) {
	n, err := e.node(node)
	if err != nil {
		return nil, fmt.Errorf("unplug: %w", err)
	}
	s, err := n.running()
	if err != nil {
		return nil, fmt.Errorf("unplug: %w", err)
	}
	p, ok := s.(Pluggable)
	if !ok {
		return nil, fmt.Errorf("unplug node %s: %w", node, errors.ErrUnsupported)
	}
	if err := p.Unplug(); err != nil {
		return nil, fmt.Errorf("unplug node %s: %w", node, err)
	}
	n.monitor.lost()
	return once(func(context.Context) (int, error) {
		// The network outlives a server: a server killed meanwhile has to restart on it,
		// and a restarted server is another Pluggable.
		if now, ok := n.latest().(Pluggable); ok {
			p = now
		}
		return 0, p.Plug()
	}), nil
}
