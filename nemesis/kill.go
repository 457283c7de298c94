package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// death is a node that has been told to die, and is dead for good when done.
type death struct {
	node string
	done chan struct{}
	err  error // once done
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

// outlast waits for a node's end, for which no client is held: a container may take
// most of a second. On virtual time it is over.
func (s *strike) outlast(ctx context.Context, d *death) error {
	select {
	case <-d.done:
	default:
		s.letGo()
	}
	return d.wait(ctx)
}

// kill kills the action's nodes and says which it did.
func (s *strike) kill(ctx context.Context) (killed []*death, err error) {
	for _, node := range s.action.Nodes {
		d, err := s.fell(ctx, node)
		if err != nil {
			return killed, err
		}
		killed = append(killed, d)
	}
	return killed, nil
}

// fell kills a node. It does not wait for a slow killing to end: from the moment that
// is on record on it executes nothing but, until it is dead, the one command that it may
// be busy with.
func (s *strike) fell(ctx context.Context, node string) (*death, error) {
	d, told := &death{node: node, done: make(chan struct{})}, make(chan struct{})
	go func() {
		defer close(d.done)
		d.err = s.dies(ctx, node, func() { close(told) })
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

// dies kills a node. Told is called when that is on record.
func (s *strike) dies(ctx context.Context, node string, told func()) error {
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
