// Package childtest tests that what a harness has started does not outlive it.
package childtest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// KillHarness starts this test program again with environment ("NAME=value") set, which
// makes it a harness: it prints the process ids of its children, a line each, and
// waits. After that many, KillHarness kills it, and waits until the children are dead.
// The test fails if a step fails or a child lives on.
func KillHarness(t testing.TB, environment string, children int) {
	t.Helper()
	harness := exec.Command(os.Args[0])
	harness.Env = append(os.Environ(), environment)
	harness.Stderr = os.Stderr
	out, err := harness.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < children && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Errorf("the harness says %q, want a process id", lines.Text())
			break
		}
		if !alive(pid) {
			t.Errorf("process %d has ended before its harness", pid)
		}
		pids = append(pids, pid)
	}
	if err := harness.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = harness.Wait()
	if len(pids) != children {
		t.Fatalf("the harness has named %d processes, want %d", len(pids), children)
	}
	for _, pid := range pids {
		AwaitEnd(t, pid)
	}
}

// AwaitEnd waits until a process that need not be our child is dead, reaped or not.
func AwaitEnd(t testing.TB, pid int) {
	t.Helper()
	const patience = time.Minute // of a busy machine
	for end := time.Now().Add(patience); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d lives on after %v", pid, patience)
		}
	}
}

func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && (err != nil || !strings.Contains(string(stat), ") Z "))
}
