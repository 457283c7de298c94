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
	// Unplug takes the server off the network. Connections to the server break.
	Unplug() error
	// Plug brings the server back on the network. Other servers reach it at its old address; this program
	// may need another one, so Addr may change. If the server has ended, Plug prepares the network for the
	// node's next server.
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
		// Plug in the latest server: the unplugged one may have been restarted meanwhile,
		// as another Pluggable on the same network.
		if now, ok := n.latest().(Pluggable); ok {
			p = now
		}
		return 0, p.Plug()
	}), nil
}
