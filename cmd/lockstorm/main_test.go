package main

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the package if a goroutine outlives the tests. Called as run
// calls its worker processes, or a testbed its reaper, the test binary is one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == workerName || os.Args[1] == reaperName) {
		a := app{args: os.Args[1:], stdout: os.Stdout, stderr: os.Stderr, testbeds: testbeds}
		os.Exit(a.run(context.Background()))
	}
	goleak.VerifyTestMain(m)
}
