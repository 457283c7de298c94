// Package trialtest has the code that tests of trials share: verdicts, and test programs that also
// serve as the processes that they start.
package trialtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/childtest"
	"github.com/lockstorm/lockstorm/testbed/process"
)

// AsClient and AsWorker are environment variables. A test program that finds one of them set
// serves as a client process, or as a worker.
const (
	AsClient = "LOCKSTORM_TEST_CLIENT"
	AsWorker = "LOCKSTORM_TEST_WORKER"
)

// Main is the TestMain of a program that serves as a client process or a worker if its environment
// says so. A nil function means that the program never serves in that role. Main fails the package
// if a goroutine outlives the tests.
func Main(m *testing.M, client, worker func(context.Context) error) {
	serve := client
	if client == nil || os.Getenv(AsClient) == "" {
		serve = worker
		if worker == nil || os.Getenv(AsWorker) == "" {
			goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/lockstorm/lockstorm/testbed/foreign.init.0.func1"))
			return
		}
	}
	if err := serve(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// OnProcesses returns a testbed on real time, and the command line of its client processes, which
// is this test program. The test fails if it leaves a process behind.
func OnProcesses(t *testing.T) (tb testbed.Testbed, client []string) {
	t.Helper()
	t.Setenv(AsClient, "1")
	tb, err := process.New(process.Options{Temp: t.TempDir()})
	if err != nil {
		t.Fatal("no real Redis to test with: ", err)
	}
	t.Cleanup(func() {
		if left := childtest.Children(t); len(left) > 0 {
			t.Errorf("processes left behind: %v", left)
		}
	})
	return tb, []string{os.Args[0]}
}

// Violated returns the verdict of an oracle that found violations with the given causes.
func Violated(oracle string, causes ...checker.Cause) checker.Verdict {
	v := Verdict(oracle, checker.Violated)
	for _, c := range causes {
		v.Findings = append(v.Findings, checker.Finding{Cause: c})
	}
	return v
}

// Verdict returns a verdict without findings.
func Verdict(oracle string, r checker.Result) checker.Verdict {
	return checker.Verdict{Oracle: oracle, Result: r}
}

// BlockedForEver marks all findings of v as Forever.
func BlockedForEver(v checker.Verdict) checker.Verdict {
	for i := range v.Findings {
		v.Findings[i].Forever = true
	}
	return v
}
