package cli

import (
	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/trial/worker"
)

// workerName is the command with which run starts its worker processes.
const workerName = "worker"

// workerCommand is internal: it runs another lockstorm's trials.
func (a *app) workerCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:    workerName,
		Short:  "Run trials for another lockstorm, which starts this",
		Hidden: true,
		Args:   expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			choice, err := a.choice(name)
			if err != nil {
				return err
			}
			tb, done, err := choice.open(cmd.Context(), testbedFlags{})
			if err != nil {
				return err
			}
			err = worker.Serve(cmd.Context(), tb)
			if derr := done(); err == nil {
				err = derr
			}
			return err
		},
	}
	cmd.Flags().StringVar(&name, "testbed", a.testbeds[0].Name, "where Redis comes from")
	return cmd
}
