package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/testbed/container"
)

// reaperName is the command with which the container testbed starts the process
// that outlives this one.
const reaperName = "reap"

// reaperCommand is internal: it removes the containers of another lockstorm that was
// killed.
func (a *app) reaperCommand() *cobra.Command {
	return &cobra.Command{
		Use:    reaperName + " SESSION",
		Short:  "Remove the containers of another lockstorm, which starts this, when it has ended",
		Hidden: true,
		Args:   expectArgs(1, 1, "the name of the session"),
		RunE:   func(_ *cobra.Command, args []string) error { return container.Reap(args[0], os.Stdin) },
	}
}
