package testbed

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// Inspector is the capability to look at nodes, which a post-mortem requires. Every world
// with Nodes has it.
type Inspector interface {
	// Keys is Nodes.Keys. If the node belongs to somebody else, Keys lists only the trial's
	// keys.
	Keys(ctx context.Context, node string) ([]history.KeyState, error)
	// List is Nodes.List.
	List() []string
}
