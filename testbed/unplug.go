package testbed

import "context"

// Unplugger may be implemented by a world whose nodes have a network of their own.
type Unplugger interface {
	// Unplug takes the node off its network until undone: the node runs on, but no
	// connection works in either direction; hits is 0. The error is errors.ErrUnsupported
	// where nodes have no network of their own.
	Unplug(ctx context.Context, node string) (Undo, error)
}
