package testbed

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// Inspector is the capability to look at nodes, without which there is no
// post-mortem. Whoever has Nodes has it.
type Inspector interface {
	// Keys is Nodes.Keys. Where a node is not the trial's own, they are the
	// trial's own keys.
	Keys(ctx context.Context, node string) ([]history.KeyState, error)
	// List is Nodes.List.
	List() []string
}
