package testbed

import (
	"context"

	"github.com/lockstorm/lockstorm/history"
)

// Inspector is the capability to look at nodes. A post-mortem requires it; every world with
// Nodes has it.
type Inspector interface {
	// Keys is Nodes.Keys, but on a server that the testbed did not start, Keys lists only
	// the trial's keys.
	Keys(ctx context.Context, node string) ([]history.KeyState, error)
	// List is Nodes.List.
	List() []string
}
