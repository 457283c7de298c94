// Package clockshimtest builds the clock shim for tests.
package clockshimtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/lockstorm/lockstorm/testbed/clockshim"
)

// Build builds the library and returns its path. It skips the test if the machine cannot build the
// library.
func Build(t testing.TB) string {
	t.Helper()
	library, err := Make(t)
	if err != nil {
		t.Skip(err)
	}
	return library
}

// Make does what Build does, but returns an error if the machine cannot build the library.
func Make(t testing.TB) (library string, err error) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return "", errors.New("the clock shim needs Linux")
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", fmt.Errorf("the clock shim needs a C compiler: %w", err)
	}
	dir := t.TempDir()
	source, library := filepath.Join(dir, "clockshim.c"), filepath.Join(dir, clockshim.FileName)
	if err := os.WriteFile(source, clockshim.Source, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cc, "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-nostdlib", "-o", library, source).CombinedOutput()
	if err != nil {
		t.Fatalf("build the clock shim: %v\n%s", err, out)
	}
	return library, nil
}
