package clockshim

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Build returns the path of a library that programs can preload. The library is built once for each source and
// machine, into the user's cache directory. The error is one line that says what is missing. Build may be
// called concurrently, also by several programs.
func Build(name string, source []byte, flags ...string) (path string, err error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("a machine with Linux is needed")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("lockstorm-%d", os.Getuid()))
	}
	dir := filepath.Join(cache, "lockstorm")
	path = filepath.Join(dir, fmt.Sprintf("%s-%s-%.10x.so", name, runtime.GOARCH, sha256.Sum256(source)))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := preloadable(path); err != nil {
		return "", fmt.Errorf("another cache directory is needed, in $XDG_CACHE_HOME: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("a cache directory is needed: %w", err)
	}
	return path, compile(path, source, flags)
}

func preloadable(path string) error {
	if strings.ContainsAny(path, " :") { // these separate entries of LD_PRELOAD
		return fmt.Errorf("%s: a library with a blank or a colon in its path cannot be preloaded", path)
	}
	return nil
}

// compile builds a library under another name and renames it, so that nobody sees half of it.
func compile(path string, source []byte, flags []string) error {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return errors.New("a C compiler (cc) is needed, to build a small library once")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "building-*.so")
	if err != nil {
		return fmt.Errorf("a cache directory is needed: %w", err)
	}
	defer os.Remove(f.Name()) // gone if the rename succeeded
	cmd := exec.Command(cc, append([]string{"-O2", "-shared", "-fPIC", "-o", f.Name(), "-x", "c", "-"}, flags...)...)
	cmd.Stdin = bytes.NewReader(source)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	// In a container the program may run as another user.
	if err = errors.Join(err, f.Chmod(0o755), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("build a small library with %s: %w", cc, err)
	}
	return nil
}
