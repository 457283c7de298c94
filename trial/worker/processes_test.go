package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/trialtest"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/trial"
)

// killers maps the ids of recipes to what the recipes do to their worker process, such as a panic.
var killers = map[string]func(){
	"test-kills-panic": func() {
		go func() { panic(fmt.Errorf("lost\nat %p", new(int))) }()
	},
	"test-kills-nil": func() {
		var none *locks.Lease
		go func() { none.Token = "t" }()
	},
	"test-kills-exit":  func() { os.Exit(3) },
	"test-kills-crowd": func() { panic(errors.New("caught, as it is not in a goroutine of its own")) },
	"test-kills-hang": func() {
		//lint:ignore SA5002 the endless loop is intended
		for {
		}
	},
	"test-kills-flood": func() {
		line := strings.Repeat("x", 1<<16)
		for range 40 {
			fmt.Fprintln(os.Stderr, line)
		}
		go func() { panic("at last") }()
	},
	"test-kills-orphan": orphan,
	"test-kills-leave":  func() { go func() { select {} }() },
	"test-kills-answer": func() { _, _ = os.NewFile(answersFile, "answers").WriteString("{\n") },
	"test-kills-once":   func() { go once(os.Getenv("LOCKSTORM_TEST_ONCE")) },
	"test-kills-clock": func() {
		var mu sync.Mutex
		go func() {
			mu.Lock()
			time.Sleep(time.Second)
			mu.Unlock()
		}()
		time.Sleep(time.Millisecond)
		mu.Lock()
	},
	"test-kills-talk": func() { fmt.Print(`lockstorm:{"done":`) },
}

func init() { trialtest.RegisterEnders(killers) }

// forked returns a pool of workers that run this test program.
func forked(t *testing.T, n int) *processes {
	t.Helper()
	t.Setenv(trialtest.AsWorker, "1")
	p := newProcesses([]string{os.Args[0]}, n)
	t.Cleanup(p.Close)
	return p
}

// killerTask returns a task for a trial of the given recipe without a fault.
func killerTask(t *testing.T, lock string) trial.Task {
	s := soundSpec()
	s.Lock = lock
	return trial.Task{Spec: s, Folder: filepath.Join(t.TempDir(), "trials", lock, "none", "mutex-0")}
}

func TestATrialThatEndsItsWorkerIsAVerdict(t *testing.T) {
	tests := map[string]struct{ f, detail string }{
		"test-kills-panic": {history.FPanic, `panic: lost at 0x… (in github.com/lockstorm/lockstorm/trial/worker.init.func`},
		"test-kills-nil":   {history.FPanic, "panic: runtime error: invalid memory address or nil pointer dereference (in github.com/"},
		"test-kills-exit":  {history.FPanic, "the code under test ended its process: exit status 3"},
		"test-kills-crowd": {history.FPanic, "client 1: recipe test-kills-crowd panicked: caught, as"},
		"test-kills-hang":  {history.FRunaway, "the trial did not come to an end within 3s of processor time: github.com/lockstorm/lockstorm/trial/worker.init.func"},
		"test-kills-flood": {history.FPanic, "panic: at last (in github.com/"},
	}
	p := forked(t, 1)
	p.limit = 3 * time.Second
	for _, lock := range slices.Sorted(maps.Keys(tests)) {
		t.Run(lock, func(t *testing.T) {
			task := killerTask(t, lock)
			d, err := p.Run(t.Context(), task, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d.Trial.Outcome != trial.Violated || d.Trial.Flaws[0].Oracle != "conduct" || !d.Kept || d.Trial.Err != "" {
				t.Errorf("trial is %+v", d.Trial)
			}
			r, err := trial.LoadJudged(task.Folder)
			if err != nil || r.Differs != nil {
				t.Fatal(err, r.Differs)
			}
			ops := r.Evidence.Ops
			if last := ops[len(ops)-1]; len(ops) < 5 || len(r.Evidence.Commands) == 0 || last.F != tests[lock].f || !strings.HasPrefix(last.Error, tests[lock].detail) {
				t.Errorf("%d entries and %d commands, the last is %+v, want %s: %s…", len(ops), len(r.Evidence.Commands), last, tests[lock].f, tests[lock].detail)
			}
			if _, err := os.Stat(filepath.Join(task.Folder, trial.GoroutinesFile)); err != nil && lock != "test-kills-exit" {
				t.Error(err)
			}
		})
	}
	if d, err := p.Run(t.Context(), killerTask(t, "set-nx-px"), nil); err != nil || d.Trial.Outcome != trial.Holds {
		t.Errorf("the worker was not replaced: %+v, %v", d.Trial, err)
	}
}

func TestATrialWhoseClockStandsStillIsNoVerdict(t *testing.T) {
	if _, ok := cpuTime(os.Getpid()); !ok {
		t.Skip("not on Linux: only there a worker's processor time is read (cpu_linux.go)")
	}
	p := forked(t, 1)
	d, err := p.Run(t.Context(), killerTask(t, "test-kills-clock"), nil)
	want := crash.Standstill + ": github.com/lockstorm/lockstorm/trial/worker."
	if err != nil || !strings.HasPrefix(d.Trial.Err, want) || !strings.Contains(d.Trial.Err, ", processes_test.go:") || d.Trial.Outcome != trial.Unknown {
		t.Errorf("trial is %+v, %v; want %q…", d.Trial, err, want)
	}
}

func TestAProcessThatWaitsForAProcessorIsRunnable(t *testing.T) {
	if _, ok := cpuTime(os.Getpid()); !ok {
		t.Skip("not on Linux: only there the state of threads is read (cpu_linux.go)")
	}
	if !runnable(os.Getpid()) {
		t.Error("this process reads its own state, and is not runnable")
	}
	sleeper := exec.CommandContext(t.Context(), "sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleeper.Wait()
	defer sleeper.Process.Kill()
	asleep := func() bool { return !runnable(sleeper.Process.Pid) }
	for !asleep() && t.Context().Err() == nil {
		time.Sleep(time.Millisecond) // wait until the process sleeps
	}
}

func TestWhatARecipePrintsDoesNotDisturbItsWorker(t *testing.T) {
	p := forked(t, 1)
	if d, err := p.Run(t.Context(), killerTask(t, "test-kills-talk"), nil); err != nil || d.Died || d.Trial.Err != "" {
		t.Errorf("died %v, %v, %s", d.Died, err, d.Trial.Err)
	}
}

func TestAnInterruptLeavesNoWorkerBehind(t *testing.T) {
	p := forked(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Run(ctx, killerTask(t, "set-nx-px"), nil); err != nil {
		t.Fatal(err)
	}
	w := <-p.idle
	p.idle <- w
	pid := w.cmd.Process.Pid
	time.AfterFunc(300*time.Millisecond, cancel)
	if _, err := p.Run(ctx, killerTask(t, "test-kills-hang"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("worker %d is still there: %v", pid, err)
	}
}

func TestAWorkerThatIsNoneIsAnError(t *testing.T) {
	for want, argv := range map[string][]string{"exit status": {"false"}, "no such file": {"/none/such"}} {
		p := newProcesses(argv, 1)
		if _, err := p.Run(t.Context(), killerTask(t, "set-nx-px"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", argv, err, want)
		}
		p.Close()
	}
}

// A client in another language may wait for a processor while its worker waits for the client.
func TestAProcessWhoseChildRunsIsRunnable(t *testing.T) {
	if _, ok := cpuTime(os.Getpid()); !ok {
		t.Skip("not on Linux: only there the state of threads is read (cpu_linux.go)")
	}
	parent := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done & wait")
	parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	defer syscall.Kill(-parent.Process.Pid, syscall.SIGKILL)
	time.Sleep(300 * time.Millisecond) // after that, only the child runs
	for range 50 {
		if !runnable(parent.Process.Pid) {
			t.Fatal("its child runs, and it is not runnable")
		}
		time.Sleep(time.Millisecond)
	}
}
