package main

import (
	"context"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the package if a goroutine outlives the tests. Called as run
// calls its worker processes, a trial its clients, or a testbed its reaper, the test
// binary is one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{workerName, clientName, reaperName}, os.Args[1]) {
		a := app{args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, testbeds: testbeds}
		os.Exit(a.run(context.Background()))
	}
	goleak.VerifyTestMain(m)
}
