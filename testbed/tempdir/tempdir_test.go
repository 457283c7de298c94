package tempdir

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// ownerVariable names a directory. If it is set, the test binary makes a directory below that one,
// prints the path, and waits until it is killed.
const ownerVariable = "LOCKSTORM_TEST_OWNER"

func TestMain(m *testing.M) {
	parent := os.Getenv(ownerVariable)
	if parent == "" {
		os.Exit(m.Run())
	}
	d, err := Make(parent)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(d.Path())
	time.Sleep(time.Hour) // an empty select would end the program as a deadlock
	runtime.KeepAlive(d)
}

// owner starts a program that owns a directory below parent.
func owner(t *testing.T, parent string) (path string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), ownerVariable+"="+parent)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if path = strings.TrimSpace(line); err != nil || filepath.Dir(path) != parent {
		t.Fatalf("the owner says %q, %v", line, err)
	}
	return path, kill
}

// names returns the sorted names of the entries of a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestOnlyDirectoriesOfTheDeadAreSwept(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	dead, kill := owner(t, parent)
	living, _ := owner(t, parent)
	mine, err := Make(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"lockstorm-of-nobody", "other", "other/lockstorm-below"} {
		if err := os.Mkdir(filepath.Join(parent, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := func(dir, name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file(dead, "appendonly.aof")
	file(filepath.Join(parent, "other"), ownerFile)
	file(elsewhere, ownerFile)
	if err := os.Symlink(elsewhere, filepath.Join(parent, "lockstorm-link")); err != nil {
		t.Fatal(err)
	}
	before := names(t, parent)
	Sweep(parent)
	if got := names(t, parent); !slices.Equal(got, before) {
		t.Errorf("while all owners live: got %q, want %q", got, before)
	}
	kill()
	Sweep(parent)
	want := slices.DeleteFunc(before, func(name string) bool { return name == filepath.Base(dead) })
	if got := names(t, parent); !slices.Equal(got, want) {
		t.Errorf("after the owner's death: got %q, want %q", got, want)
	}
	if got := names(t, elsewhere); !slices.Equal(got, []string{ownerFile}) {
		t.Errorf("behind a symbolic link: got %q", got)
	}
	if got := names(t, living); !slices.Equal(got, []string{ownerFile}) {
		t.Errorf("the living owner's: got %q", got)
	}
	if err := mine.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine.Path()); !os.IsNotExist(err) {
		t.Errorf("after Remove: got %v, want that it is gone", err)
	}
}

func TestADirectoryThatCannotBeMadeIsNamed(t *testing.T) {
	_, err := Make("/nonexistent")
	if err == nil || !strings.Contains(err.Error(), "/nonexistent") {
		t.Errorf("got %v", err)
	}
	Sweep("/nonexistent")
}
