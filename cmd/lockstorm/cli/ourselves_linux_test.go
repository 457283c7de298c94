package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/trial"
)

// Tests of the harness itself: signals, its death, and the death of a Redis that no fault killed.
// The program runs in a separate process. The tests mostly wait for it, so they run in parallel.

// longEnough is the duration of trials during which a test does something to the program. On a busy
// machine, the test notices only after seconds that the trial has begun.
const longEnough = "8s"

// TestASignalEndsARunThatCanBeRead: the exit code is as a shell expects, no process or temporary
// file is left, and the stored trials can be judged and reported. With -short, each row
// of signals comes to one kind of clients: the second signal ends a trial by the same cancellation as a first SIGTERM.
func TestASignalEndsARunThatCanBeRead(t *testing.T) {
	t.Parallel()
	for signals, want := range map[[2]syscall.Signal]int{{syscall.SIGTERM}: 143, {syscall.SIGINT, syscall.SIGINT}: 130, {syscall.SIGINT, syscall.SIGTERM}: 143} {
		for _, clients := range []string{trial.Goroutines, trial.Processes} {
			if twice := signals[1] != 0; testing.Short() && twice != (clients == trial.Goroutines) {
				continue
			}
			t.Run(fmt.Sprint(signals)+" with "+clients, func(t *testing.T) {
				t.Parallel()
				p := start(t, t.TempDir(), t.TempDir(), "--faults", "none", "--trials", "3", "--duration", longEnough, "--clients-as", clients)
				p.underWay(t, "none", 1)
				children := processes(t, p.Process.Pid, "")
				last := signals[0]
				if err := p.Process.Signal(last); err != nil {
					t.Fatal(err)
				}
				if signals[1] != 0 {
					time.Sleep(2 * time.Second) // so that the program has handled the first signal
					last = signals[1]
					if err := p.Process.Signal(last); err != nil {
						t.Fatal(err)
					}
				}
				if code := p.code(t); code != want {
					t.Errorf("exit code %d, want %d", code, want)
				}
				if said := (interruption{last}).Error() + "; finished trials are in " + p.store; !strings.Contains(p.stderr.String(), said) {
					t.Errorf("stderr is\n%s\nwant %q", p.stderr.String(), said)
				}
				awaitDeath(t, children)
				empty(t, p.temp)
				readable(t, p.folder("none", 0), "exclusion")
				readable(t, p.folder("none", 1), "the history ends at")
				reported(t, p.store, "interrupted: 1 of 3 planned trials")
			})
		}
	}
}

// TestTheFirstSIGINTLetsTheTrialUnderWayFinish: the running trial is judged like any other, and no
// further trial starts.
func TestTheFirstSIGINTLetsTheTrialUnderWayFinish(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), t.TempDir(), "--faults", "none", "--trials", "3", "--duration", longEnough)
	p.underWay(t, "none", 1)
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.code(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	for _, want := range []string{"those under way finish; another Ctrl-C stops them", "interrupted by SIGINT; finished trials are in " + p.store} {
		if !strings.Contains(p.stderr.String(), want) {
			t.Errorf("stderr is\n%s\nwant %q", p.stderr.String(), want)
		}
	}
	empty(t, p.temp)
	readable(t, p.folder("none", 1), "exclusion")
	reported(t, p.store, "interrupted: 2 of 3 planned trials")
}

// TestAKilledRunCanBeRead: all child processes die with the run, the stored trials can be read
// even if the last line is cut short, and the next run removes the killed run's temporary files.
func TestAKilledRunCanBeRead(t *testing.T) {
	t.Parallel()
	for clients, least := range map[string]int{trial.Goroutines: 1, trial.Processes: 4} {
		t.Run(clients, func(t *testing.T) {
			t.Parallel()
			p := start(t, t.TempDir(), t.TempDir(), "--faults", "none", "--trials", "3", "--duration", longEnough, "--clients-as", clients)
			p.underWay(t, "none", 1)
			children := processes(t, p.Process.Pid, "")
			if len(children) < least {
				t.Errorf("in the middle of a trial it has %d children, want %d at least", len(children), least)
			}
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			p.code(t)
			awaitDeath(t, children)
			readable(t, p.folder("none", 0), "exclusion")
			readable(t, p.folder("none", 1), "the history ends at")
			reported(t, p.store, "interrupted: 1 of 3 planned trials")

			cutShort(t, filepath.Join(p.folder("none", 1), trial.HistoryFile))
			cutShort(t, packed.Find(filepath.Join(p.store, campaign.Latest, trial.ResultsFile)))
			readable(t, p.folder("none", 1), trial.HistoryFile+":")
			readable(t, p.folder("none", 1), "the last line is cut short")
			reported(t, p.store, "interrupted: 0 of 3 planned trials")

			next := start(t, t.TempDir(), p.temp, "--faults", "none", "--trials", "1", "--duration", "100ms")
			if code := next.code(t); code != campaign.ExitExpected && code != campaign.ExitUnknown {
				t.Errorf("the next run: exit code %d; stderr\n%s", code, next.stderr.String())
			}
			empty(t, p.temp)
		})
	}
}

// cutShort removes the last bytes of a file.
func cutShort(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()-5)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestARedisKilledFromOutsideFailsItsTrialOnly: the harness did not kill the Redis, so the trial
// proves nothing about the lock.
func TestARedisKilledFromOutsideFailsItsTrialOnly(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), t.TempDir(), "--faults", "none", "--trials", "3", "--duration", longEnough)
	p.underWay(t, "none", 1)
	for _, pid := range processes(t, p.Process.Pid, "redis-server") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if code := p.code(t); code != campaign.ExitHarness {
		t.Errorf("exit code %d, want 255", code)
	}
	const said = "trial 1 of set-nx-px under none (mutex) failed: process testbed: node n0 died unexpectedly: signal: killed"
	if !strings.Contains(p.stderr.String(), said) {
		t.Errorf("stderr is\n%s\nwant %q", p.stderr.String(), said)
	}
	s, err := campaign.Load(filepath.Join(p.store, campaign.Latest))
	if err != nil || len(s.Trials) != 3 || len(s.Matrix.Failed) != 1 || s.Matrix.Interrupted {
		t.Errorf("stored: %d trials, %d failed, interrupted %t, %v; want 3, 1, false", len(s.Trials), len(s.Matrix.Failed), s.Matrix.Interrupted, err)
	}
	empty(t, p.temp)
	readable(t, p.folder("none", 1), "the history ends at")
	reported(t, p.store, "node n0 died unexpectedly")
}

// TestRepeatedRunsLeakNothing: a campaign of seven trials per cell leaves no more goroutines and
// open files than a campaign of one trial per cell.
func TestRepeatedRunsLeakNothing(t *testing.T) {
	trials := func(n string) {
		code, _, stderr := lockstorm(t, "run", "--testbed", "process", "--locks", "set-nx-px", "--faults", "none,client-pause,reset", "--workloads", "mutex", "--trials", n,
			"--duration", "200ms", "--ttl", "100ms", "--parallel", "4", "--store", t.TempDir())
		if code != campaign.ExitExpected && code != campaign.ExitUnknown {
			t.Errorf("exit code %d; stderr\n%s", code, stderr)
		}
	}
	trials("1")
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	trials("7")
	for start := time.Now(); runtime.NumGoroutine() > goroutines || openFiles(t) > files; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > time.Minute { // everything that should end has had enough time
			stacks := make([]byte, 1<<20)
			t.Fatalf("goroutines: %d before, %d after; open files: %d before, %d after\n%s", goroutines, runtime.NumGoroutine(),
				files, openFiles(t), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// openFiles counts the open files of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
