package clientproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// playHarness names its client processes and waits.
func playHarness() {
	var t harness
	s := mustOpen(&t, "tick", 2)
	for _, p := range s.procs {
		fmt.Println(p.cmd.Process.Pid)
	}
	_ = s.Run(context.Background())
}

// harness is a test that is a process.
type harness struct{ testing.TB }

func (harness) Helper()                  {}
func (harness) Cleanup(func())           {}
func (harness) Setenv(name, to string)   { os.Setenv(name, to) }
func (harness) Context() context.Context { return context.Background() }
func (harness) Fatal(args ...any)        { fmt.Println(args...); os.Exit(1) }

func TestNoClientSurvivesAKilledHarness(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asHarness+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 2 && lines.Scan(); {
		pid, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(lines.Text())
		}
		pids = append(pids, pid)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, pid := range pids {
		until(t, fmt.Sprintf("process %d lives on", pid), func() bool { return !alive(pid) })
	}
}

// alive says whether the process, which is not our child, is there and not dead.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && (err != nil || !strings.Contains(string(stat), ") Z "))
}
