package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/trial"
)

// clientName is the command with which trials start client processes.
const clientName = "client"

// clientCommand is internal: it runs one client of another lockstorm's trial.
func (a *app) clientCommand() *cobra.Command {
	return &cobra.Command{
		Use:    clientName,
		Short:  "Be one client of a trial of another lockstorm, which starts this",
		Hidden: true,
		Args:   expectArgs(0, 0, "no arguments"),
		RunE:   func(cmd *cobra.Command, _ []string) error { return trial.ServeClient(cmd.Context()) },
	}
}

// clientProgram returns the command line of a client process; nil if clients are
// goroutines.
func clientProgram(as string) ([]string, error) {
	if as != trial.Processes {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program for client processes: %w", err)
	}
	return []string{self, clientName}, nil
}
