// Package tempdir makes temporary directories, and removes those that killed programs left behind.
package tempdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// prefix begins the names of all directories.
const prefix = "lockstorm-"

// ownerFile is a file in each directory. The program that owns the directory locks the file while
// it lives. The kernel releases the lock however the program ends.
const ownerFile = ".owner"

// Dir is a temporary directory that this program owns.
type Dir struct {
	path  string
	owner *os.File // holds the lock on ownerFile
}

// Make makes a directory below parent; "" = the system's directory for temporary files. Call
// Remove to remove the directory.
func Make(parent string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	owner, err := own(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a temporary directory: %w", err), os.RemoveAll(path))
	}
	return &Dir{path, owner}, nil
}

// own makes the owner file in a directory. It locks the file before it gives the file its name, so
// that Sweep never takes a new directory for abandoned.
func own(path string) (*os.File, error) {
	name := filepath.Join(path, ownerFile)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lock(f); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lock locks a file for this program, or fails at once.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// Path returns the directory's path.
func (d *Dir) Path() string { return d.path }

// Remove removes the directory and its content.
func (d *Dir) Remove() error {
	// The lock is released last. Otherwise another program might remove the directory at the same
	// time.
	return errors.Join(os.RemoveAll(d.path), d.owner.Close())
}

// Sweep removes the directories below parent that killed programs of this user made with Make;
// parent "" means the same as for Make. It skips directories that it cannot identify or remove.
func Sweep(parent string) {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && strings.HasPrefix(e.Name(), prefix) && mine(info) {
			sweep(filepath.Join(parent, e.Name()))
		}
	}
}

func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// sweep removes a directory whose owner is dead.
func sweep(path string) {
	f, err := os.OpenFile(filepath.Join(path, ownerFile), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if lock(f) == nil {
		_ = os.RemoveAll(path) // if this fails before it removes ownerFile, the next Sweep tries again
	}
}
