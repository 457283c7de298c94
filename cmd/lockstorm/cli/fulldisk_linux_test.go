package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/trial"
)

// smallDisk mounts a file system of the given size. The error says why mounting failed.
func smallDisk(t *testing.T, size string) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		return "", os.NewSyscallError("mount a small tmpfs", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, nil
}

// oneLineNames checks that the program ended because the harness failed, and printed one line that
// contains all the given words.
func oneLineNames(t *testing.T, p *program, words ...string) {
	t.Helper()
	if code := p.code(t); code != campaign.ExitHarness {
		t.Errorf("exit code %d, want 255", code)
	}
	var lines []string
	for line := range strings.Lines(p.stderr.String()) {
		if strings.HasPrefix(line, "lockstorm: ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 {
		t.Fatalf("stderr is\n%s\nwant one line of lockstorm's", p.stderr.String())
	}
	for _, w := range words {
		if !strings.Contains(lines[0], w) {
			t.Errorf("it says\n%s\nwant %q in it", lines[0], w)
		}
	}
}

// TestAFullDiskEndsTheRunAndLeavesWhatWasStored: the error is one line that names the file, and
// everything stored before is complete.
func TestAFullDiskEndsTheRunAndLeavesWhatWasStored(t *testing.T) {
	t.Parallel() // it mostly waits for the program
	disk, err := smallDisk(t, "16m")
	if err != nil {
		t.Skipf("NOT TESTED: %v; TestAFileThatMayNotGrowEndsTheRun stands for it", err)
	}
	p := start(t, filepath.Join(disk, "store"), t.TempDir(), "--faults", "none", "--trials", "4", "--duration", longEnough)
	p.underWay(t, "none", 1)
	fill(t, filepath.Join(disk, "other"))
	oneLineNames(t, p, "mutex-1/", ".jsonl: no space left on device", "the 1 trial that came before can be read in")
	empty(t, p.temp)
	readable(t, p.folder("none", 0), "exclusion")
	readable(t, p.folder("none", 1), "unknown")
	if err := os.Remove(filepath.Join(disk, "other")); err != nil {
		t.Fatal(err)
	}
	reported(t, p.store, "interrupted: 1 of 4 planned trials")
	if parts, _ := filepath.Glob(filepath.Join(p.store, campaign.Latest, "*.part")); len(parts) > 0 {
		t.Errorf("left behind: %q", parts)
	}
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; { // in ever smaller pieces, down to the last byte
		if n, err := f.Write(make([]byte, size)); err != nil {
			size = min(size, n) / 2
		}
	}
}

// TestAFileThatMayNotGrowEndsTheRun tests a full disk without a mount: the kernel limits the size
// of the program's files.
func TestAFileThatMayNotGrowEndsTheRun(t *testing.T) {
	store := t.TempDir()
	const blocks = "32" // blocks of 512 or 1024 bytes, depending on the shell
	p := launch(t, exec.Command("/bin/sh", "-c", `ulimit -f `+blocks+`; trap '' XFSZ; exec "$0" "$@"`, os.Args[0],
		"run", "--testbed", "process", "--locks", "set-nx-px", "--faults", "none", "--workloads", "mutex", "--trials", "1", "--duration", "20s", "--store", store), store, t.TempDir())
	oneLineNames(t, p, "mutex-0/", ".jsonl: file too large")
	empty(t, p.temp)
	found, err := filepath.Glob(filepath.Join(store, "compare", "*", "trials", "*", "*", "mutex-0"))
	if err != nil || len(found) != 1 {
		t.Fatalf("folders: %q, %v", found, err)
	}
	readable(t, found[0], "unknown")
}

// TestAFullDiskOfANodeFailsItsTrial: Redis cannot write its append-only file, and refuses writes
// or exits. The trial must fail, because the lock is not to blame.
func TestAFullDiskOfANodeFailsItsTrial(t *testing.T) {
	t.Parallel() // it mostly waits for the program
	disk, err := smallDisk(t, "1m")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	const fault = "node-restart" // its second plan restarts the node with appendfsync everysec, its third with always
	p := start(t, t.TempDir(), disk, "--faults", fault, "--trials", "3", "--duration", "4s", "--hold", "2ms", "--rest", "1ms", "--clients", "6")
	p.underWay(t, fault, 1)
	fill(t, filepath.Join(disk, "other"))
	if code := p.code(t); code != campaign.ExitHarness {
		t.Errorf("exit code %d, want 255", code)
	}
	s, err := campaign.Load(filepath.Join(p.store, campaign.Latest))
	if err != nil || len(s.Trials) != 4 || len(s.Matrix.Failed) != 2 {
		t.Fatalf("stored: %d trials, %d failed, %v; want 4 and 2; stderr\n%s", len(s.Trials), len(s.Matrix.Failed), err, p.stderr.String())
	}
	for _, failed := range s.Matrix.Failed {
		if failed.Outcome != trial.Unknown || !strings.Contains(failed.Err, "node n0 ") || failed.Spec.Trial == 0 {
			t.Errorf("trial %d is %s: %s", failed.Spec.Trial, failed.Outcome, failed.Err)
		}
	}
	if err := os.Remove(filepath.Join(disk, "other")); err != nil {
		t.Fatal(err)
	}
	empty(t, disk)
}
