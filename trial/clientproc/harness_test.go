package clientproc

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/childtest"
)

// playHarness prints the ids of its client processes and waits.
func playHarness() {
	var t harness
	s := mustOpen(&t, "tick", 2)
	for _, p := range s.procs {
		fmt.Println(p.cmd.Process.Pid)
	}
	fmt.Fprintln(os.Stderr, s.Run(context.Background()))
}

// harness replaces testing.TB in a process that is not a test.
type harness struct{ testing.TB }

func (harness) Helper()                  {}
func (harness) Cleanup(func())           {}
func (harness) Setenv(name, to string)   { os.Setenv(name, to) }
func (harness) Context() context.Context { return context.Background() }
func (harness) Fatal(args ...any)        { fmt.Fprintln(os.Stderr, args...); os.Exit(1) }

func TestNoClientSurvivesAKilledHarness(t *testing.T) {
	childtest.KillHarness(t, asHarness+"=1", 2)
}
