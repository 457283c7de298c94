package foreign

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// The library's source: clocks and requests, then sockets.
var (
	//go:embed shim/virtualtime.c
	clocksSource []byte
	//go:embed shim/sockets.c
	socketsSource []byte
	source        = slices.Concat(clocksSource, socketsSource)
)

// library returns the path of the preloaded library. It is compiled once for each source and
// machine, into the user's cache directory.
var library = sync.OnceValues(func() (string, error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("virtual time for programs in other languages needs Linux; real time works: use --testbed process")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("lockstorm-%d", os.Getuid()))
	}
	dir := filepath.Join(cache, "lockstorm")
	path := filepath.Join(dir, fmt.Sprintf("virtualtime-%s-%x.so", runtime.GOARCH, sha256.Sum256(source))[:40]+".so")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if strings.ContainsAny(path, " :") { // these separate entries of LD_PRELOAD
		return "", fmt.Errorf("the cache directory %s has a blank or a colon in its path: set $XDG_CACHE_HOME, or use --testbed process", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("virtual time: %w", err)
	}
	if err := compile(path); err != nil {
		return "", err
	}
	return path, nil
})

// compile builds the library under another name and renames it, so that nobody sees half of it.
func compile(path string) error {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return errors.New("virtual time for programs in other languages needs a C compiler (cc), to build a small library once; without one use --testbed process")
	}
	f, err := os.CreateTemp(filepath.Dir(path), "building-*.so")
	if err != nil {
		return fmt.Errorf("virtual time: %w", err)
	}
	defer os.Remove(f.Name()) // gone if the rename succeeded
	if err := f.Close(); err != nil {
		return fmt.Errorf("virtual time: %w", err)
	}
	cmd := exec.Command(cc, "-O2", "-shared", "-fPIC", "-o", f.Name(), "-x", "c", "-", "-ldl")
	cmd.Stdin = strings.NewReader(string(source))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the library for virtual time: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("virtual time: %w", err)
	}
	return nil
}
