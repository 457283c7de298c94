package cli

import (
	"context"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// asProgram is an environment variable: if it is set, the test binary acts as lockstorm.
const asProgram = "LOCKSTORM_TEST_PROGRAM"

// TestMain fails the package if a goroutine outlives the tests. The test binary also serves as a
// worker process, a trial's client or a testbed's reaper, if its arguments say so, and as
// lockstorm if asProgram is set.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		Main()
	}
	if len(os.Args) > 1 && slices.Contains([]string{workerName, clientName, reaperName}, os.Args[1]) {
		a := app{args: os.Args[1:], testbeds: testbeds, output: output{stdout: os.Stdout, stderr: os.Stderr}}
		os.Exit(a.run(context.Background()))
	}
	// Package foreign starts processes on a goroutine that is in no bubble, and that lives as long as the program.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/lockstorm/lockstorm/testbed/foreign.init.0.func1"))
}
