package testbed

import "context"

// Unplugger may be implemented by a world whose nodes have a network of their own.
type Unplugger interface {
	// Unplug takes the node off its network: it goes on, but nobody reaches it and it
	// reaches nobody until undone; hits is 0. The error is errors.ErrUnsupported where
	// nodes have no such network.
	Unplug(ctx context.Context, node string) (Undo, error)
}
