package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// program is lockstorm in a separate process, as a user starts it. Its store and its directory for
// temporary files are its own.
type program struct {
	*exec.Cmd
	store, temp    string
	stdout, stderr bytes.Buffer
	ended          chan struct{} // closed when the process has ended
}

// start starts lockstorm on the process testbed. It runs trials of set-nx-px one after the other
// and keeps them.
func start(t *testing.T, store, temp string, args ...string) *program {
	t.Helper()
	args = append([]string{"run", "--testbed", "process", "--locks", "set-nx-px", "--workloads", "mutex", "--parallel", "1", "--keep", "--store", store}, args...)
	return launch(t, exec.Command(os.Args[0], args...), store, temp)
}

// launch starts a command that runs the program. cmd.Env is added to this process's environment.
func launch(t *testing.T, cmd *exec.Cmd, store, temp string) *program {
	t.Helper()
	p := &program{Cmd: cmd, store: store, temp: temp, ended: make(chan struct{})}
	p.Env = slices.Concat(os.Environ(), []string{asProgram + "=1", "TMPDIR=" + temp}, cmd.Env)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.ended
	})
	return p
}

// code waits until the process ends and returns its exit code; -1 if a signal killed it.
func (p *program) code(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.ProcessState.ExitCode()
	case <-time.After(patience):
		p.giveUp(t, "it does not end")
		return 0
	}
}

// patience is a timeout for events that normally take seconds.
const patience = 3 * time.Minute

// giveUp kills the program and fails the test.
func (p *program) giveUp(t *testing.T, why string) {
	t.Helper()
	_ = p.Process.Kill()
	<-p.ended // after that, stderr is complete
	t.Fatalf("%s; stderr\n%s", why, p.stderr.String())
}

// folder returns the folder in which trial n of a fault is stored.
func (p *program) folder(fault string, n int) string {
	return filepath.Join(p.store, campaign.Latest, "trials", "set-nx-px", fault, fmt.Sprintf("mutex-%d", n))
}

// underWay waits until trial n of a fault has stored some history.
func (p *program) underWay(t *testing.T, fault string, n int) {
	t.Helper()
	const enough = 4 << 10
	history := filepath.Join("compare", "*", "trials", "set-nx-px", fault, fmt.Sprintf("mutex-%d", n), trial.HistoryFile)
	p.until(t, func() bool {
		found, err := filepath.Glob(filepath.Join(p.store, history)) // the link latest may not exist yet
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(found, func(path string) bool {
			info, err := os.Stat(path)
			return err == nil && info.Size() > enough
		})
	})
}

// until waits until the function so returns true. It fails the test if the program ends first.
func (p *program) until(t *testing.T, so func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for !so() {
		select {
		case <-p.ended:
			if so() { // the condition may have become true since the last check
				return
			}
			t.Fatalf("it has ended too early, %v; stderr\n%s", p.ProcessState, p.stderr.String())
		case <-deadline:
			p.giveUp(t, "nothing happens")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// processes returns those children of a process whose command lines contain the text.
func processes(t *testing.T, parent int, what string) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if state, of := lookAt(pid); state != dead && of == parent && strings.Contains(string(command), what) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// dead is the state of a process that has ended, reaped or not.
const dead = "Z"

// lookAt returns the state and the parent of a process, from /proc.
func lookAt(pid int) (state string, parent int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if err != nil || len(fields) < 2 {
		return dead, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// awaitDeath waits for the death of processes that are not children of this process.
func awaitDeath(t *testing.T, pids []int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for _, pid := range pids {
		for state, _ := lookAt(pid); state != dead; state, _ = lookAt(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d lives on", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// empty fails the test if a directory has entries.
func empty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("left behind: %s", filepath.Join(dir, e.Name()))
	}
}

// readable checks that check can judge a trial's folder, with any verdict, and that the output
// contains the word.
func readable(t *testing.T, folder, word string) {
	t.Helper()
	code, stdout, stderr := lockstorm(t, "check", folder)
	if code > campaign.ExitUnknown || !strings.Contains(stdout+stderr, word) {
		t.Errorf("check %s: exit code %d, want 0 to 2 and %q; stdout\n%s\nstderr\n%s", folder, code, word, stdout, stderr)
	}
}

// reported checks that report succeeds on a store and prints the word.
func reported(t *testing.T, store, word string) {
	t.Helper()
	code, stdout, stderr := lockstorm(t, "report", filepath.Join(store, campaign.Latest))
	if code != 0 || !strings.Contains(stdout, word) {
		t.Errorf("report: exit code %d, want 0 and %q; stdout\n%s\nstderr\n%s", code, word, stdout, stderr)
	}
}
