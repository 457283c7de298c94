package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// death is the killing of a node. Once done is closed, the node is dead or err is set.
type death struct {
	node string
	done chan struct{}
	err  error // why the node did not die; set before done is closed
}

// wait blocks until the node is dead. It returns an error if the kill failed or ctx ended first.
func (d *death) wait(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return fmt.Errorf("kill %s: %w", d.node, ctx.Err())
	}
}

// awaitDeath waits until a node is dead. If the node is still alive, awaitDeath first lets
// the client at Until go, since a container may take most of a second to die. On virtual
// time the node is dead already.
func (s *injection) awaitDeath(ctx context.Context, d *death) error {
	select {
	case <-d.done:
	default:
		s.letGo()
	}
	return d.wait(ctx)
}

// killAll starts to kill the action's nodes. On error it returns the kills that it has started.
func (s *injection) killAll(ctx context.Context) (killed []*death, err error) {
	for _, node := range s.action.Nodes {
		d, err := s.killAsync(ctx, node)
		if err != nil {
			return killed, err
		}
		killed = append(killed, d)
	}
	return killed, nil
}

// killAsync kills a node, and does not wait for a slow death. After the death is recorded,
// the node executes no new command; it may only finish the current one.
func (s *injection) killAsync(ctx context.Context, node string) (*death, error) {
	d, told := &death{node: node, done: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(d.done)
		d.err = s.kill(ctx, node, func() { close(told) })
	}()
	select {
	case <-told:
	case <-d.done:
		if d.err != nil {
			return nil, d.err
		}
	}
	select {
	case <-d.done: // immediately on virtual time
	case <-time.After(noticeable):
	}
	return d, nil
}

// kill waits until the node is dead. It calls told when the death is recorded.
func (s *injection) kill(ctx context.Context, node string, told func()) error {
	err := s.env.(testbed.Nodes).Kill(ctx, node, func() error {
		if err := s.event(history.Op{Client: history.NoClient, F: history.FNodeDown, Node: node}); err != nil {
			return err
		}
		told()
		return nil
	})
	if err != nil {
		return fmt.Errorf("kill %s: %w", node, err)
	}
	return nil
}
