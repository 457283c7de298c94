// Package childtest tests that no process started by a harness outlives the harness.
package childtest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// KillHarness runs this test program again, as a harness, with environment ("NAME=value") set. The
// harness must print the process ids of its children, one per line, and then wait. KillHarness
// reads the given number of ids, kills the harness, and waits until the children are dead. The
// test fails if a step fails or a child lives on.
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

// AwaitEnd waits until a process is dead, reaped or not. The process need not be a child of this
// process.
func AwaitEnd(t testing.TB, pid int) {
	t.Helper()
	const patience = time.Minute // enough on a busy machine
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

// Children lists, from /proc, the processes that this process has started and not reaped yet.
func Children(t testing.TB) (found []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended meanwhile
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			found = append(found, strings.TrimSpace(string(data)))
		}
	}
	return found
}
