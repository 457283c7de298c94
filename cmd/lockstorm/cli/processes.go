package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/container"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// The commands of this file are internal: another lockstorm process starts them.

// workerName is the command that starts a worker process of run.
const workerName = "worker"

// workerCommand runs another lockstorm's trials.
func workerCommand(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:    workerName,
		Short:  "Run trials for another lockstorm, which starts this",
		Hidden: true,
		Args:   expectArgs(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.onTestbed(cmd.Context(), name, func(_ testbedChoice, tb testbed.Testbed) error { return worker.Serve(cmd.Context(), tb) })
		},
	}
	cmd.Flags().StringVar(&name, "testbed", a.testbeds[0].Name, "where Redis comes from")
	return cmd
}

// clientName is the command that starts a client process of a trial.
const clientName = "client"

// clientCommand runs one client of another lockstorm's trial.
func clientCommand(a *app) *cobra.Command {
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

// reaperName is the command that starts the container testbed's reaper, a process that outlives
// this one.
const reaperName = "reap"

// reaperCommand removes the containers of another lockstorm process after that process has ended.
func reaperCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    reaperName + " SESSION",
		Short:  "Remove the containers of another lockstorm, which starts this, when it has ended",
		Hidden: true,
		Args:   expectArgs(1, 1, "the name of the session"),
		RunE:   func(_ *cobra.Command, args []string) error { return container.Reap(args[0], os.Stdin) },
	}
}
