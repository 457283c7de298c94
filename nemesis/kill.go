package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// death is a node that was told to die. It is dead for good when done is closed.
type death struct {
	node string
	done chan struct{}
	err  error // why it did not die; set when done is closed
}

// wait returns when the node is dead for good, or says why it is not.
func (d *death) wait(ctx context.Context) error {
	select {
	case <-d.done:
		return d.err
	case <-ctx.Done():
		return fmt.Errorf("kill %s: %w", d.node, ctx.Err())
	}
}

// awaitDeath waits until a node is dead. It lets the client at Until go first, since a
// container may take most of a second to die. On virtual time the node is dead already.
func (s *injection) awaitDeath(ctx context.Context, d *death) error {
	select {
	case <-d.done:
	default:
		s.letGo()
	}
	return d.wait(ctx)
}

// killAll kills the action's nodes and returns those that it killed.
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

// killAsync kills a node and returns before a slow death is over. Once the death is on
// record the node executes no new command: it may only finish the one that it is busy
// with.
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
	case <-d.done: // at once, on virtual time
	case <-time.After(noticeable):
	}
	return d, nil
}

// kill kills a node. Told is called when its death is on record.
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
