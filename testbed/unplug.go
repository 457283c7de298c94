package testbed

import "context"

// Unplugger is what a world may have whose nodes are on a network of their own.
type Unplugger interface {
	// Unplug takes the node off its network: it goes on, but nobody reaches it and
	// it reaches nobody until undone; hits is 0. It is errors.ErrUnsupported where
	// nodes have no network to be taken off.
	Unplug(ctx context.Context, node string) (Undo, error)
}
