package worker

import (
	"context"
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

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial"
)

// children is an environment variable with the name of a directory. There, test-kills-orphan writes a
// file for each process that it starts.
const children = "LOCKSTORM_TEST_CHILDREN"

// orphan starts two processes, one of them in its own session, and then ends its own process.
func orphan() {
	for _, session := range []bool{false, true} {
		cmd := exec.Command("sleep", "600")
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: session}
		if err := cmd.Start(); err != nil {
			os.Exit(4)
		}
		name := filepath.Join(os.Getenv(children), fmt.Sprint(cmd.Process.Pid))
		if err := os.WriteFile(name, strconv.AppendBool(nil, session), 0o666); err != nil {
			os.Exit(5)
		}
	}
	os.Exit(3)
}

func TestProcessesOfTheCodeUnderTestHoldNobodyUp(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(children, dir)
	p := forked(t, 1)
	started := time.Now()
	d, err := p.Run(t.Context(), killerTask(t, "test-kills-orphan"), nil)
	if err != nil || d.Trial.Outcome != trial.Violated || !strings.Contains(fmt.Sprint(d.Trial.Verdicts), "exit status 3") {
		t.Errorf("trial is %+v, %v", d.Trial, err)
	}
	if took := time.Since(started); took > 5*time.Minute {
		t.Errorf("it took %v, as if it had waited for processes that sleep for 10m", took)
	}
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 4 {
		t.Fatalf("%d processes, %v, want 4", len(found), err)
	}
	for _, f := range found {
		pid, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		session, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if string(session) == "true" {
			_ = syscall.Kill(pid, syscall.SIGKILL) // not in the worker's process group
		} else if runs(pid) {
			t.Errorf("process %d has outlived its worker", pid)
		}
	}
}

// runs says whether a process exists and is not a zombie.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestAWorkerInWhichATrialLeftSomethingIsReplaced(t *testing.T) {
	p := forked(t, 1)
	for lock, replaced := range map[string]bool{"set-nx-px": false, "test-kills-leave": true} {
		if d, err := p.Run(t.Context(), killerTask(t, lock), nil); err != nil || d.Died {
			t.Fatalf("%s: died %v, %v", lock, d.Died, err)
		}
		w := <-p.idle
		p.idle <- w
		if (w == nil) != replaced {
			t.Errorf("%s: worker replaced: %v, want %v", lock, w == nil, replaced)
		}
	}
}

func TestWhoListensMayTakeHisTime(t *testing.T) {
	p := forked(t, 1)
	for _, lock := range []string{"test-kills-leave", "set-nx-px"} { // only the first lock makes its worker end
		task, commands := killerTask(t, lock), 0
		task.Log = true
		d, err := p.Run(t.Context(), task, func(history.Command) {
			if commands++; commands == 1 {
				time.Sleep(idleFor + time.Second)
			}
		})
		if err != nil || d.Died || d.Trial.Err != "" || commands != d.Trial.Commands {
			t.Errorf("%s: died %v, %s, %v, %d commands of %d", lock, d.Died, d.Trial.Err, err, commands, d.Trial.Commands)
		}
	}
	w := <-p.idle
	p.idle <- w
	if w == nil {
		t.Error("the worker was killed")
	}
}

func TestAWorkerThatIsIdleEndsWithItsContext(t *testing.T) {
	in, tasks := pipe(t)
	_, answers := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- serve(ctx, sim.New(), in, answers) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("got %v", err)
	}
	if _, err := tasks.WriteString("no trial\n"); err != nil {
		t.Fatal(err)
	}
	in, tasks = pipe(t)
	go func() { ended <- serve(t.Context(), sim.New(), in, answers) }()
	if _, err := tasks.WriteString("no trial\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "expected a trial") {
		t.Errorf("got %v", err)
	}
}

// pipe returns a pipe that is closed when the test ends.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

func TestAnAnswerThatIsNoneEndsAWorker(t *testing.T) {
	p := forked(t, 1)
	d, err := p.Run(t.Context(), killerTask(t, "test-kills-answer"), nil)
	if err != nil || d.Trial.Outcome != trial.Unknown || d.Trial.Err != crash.Garbled {
		t.Errorf("trial is %+v, %v", d.Trial, err)
	}
	argv := []string{"sh", "-c", "echo hello >&4; sleep 60"}
	_, err = newProcesses(argv, 1).Run(t.Context(), killerTask(t, "set-nx-px"), nil)
	if err == nil || !strings.Contains(err.Error(), "start a worker: sh: expected a worker's answer") {
		t.Errorf("got %v", err)
	}
}

func TestAWorkerIsNotStartedByHand(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), trialtest.AsWorker+"=1")
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(string(text), "started by a campaign") {
		t.Errorf("%s, %v", text, err)
	}
}
