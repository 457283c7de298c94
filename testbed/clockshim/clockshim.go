// Package clockshim gives other programs a wall clock that can jump while they run: the machine's
// clock plus an offset. The programs preload a library in C. Monotonic clocks and timeouts do not change.
// Build also serves other libraries of this kind.
package clockshim

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PathVariable is the environment variable that holds the path of a built library. If it is unset, Find
// builds the library.
const PathVariable = "LOCKSTORM_CLOCK_SHIM"

// offsetVariable is the environment variable that tells the library which file holds the offset.
const offsetVariable = "LOCKSTORM_CLOCK_OFFSET"

var (
	//go:embed shim/clockshim.c
	source []byte
	// Calls is the source in C of the calls that read the clock by clock_gettime.
	//
	//go:embed shim/calls.c
	Calls []byte
)

// Find returns the library's absolute path: the path in $LOCKSTORM_CLOCK_SHIM, else that of Build. The library
// works in programs with any C library. The error says in one line how to get the library.
func Find() (path string, err error) {
	path = os.Getenv(PathVariable)
	if path == "" {
		if path, err = Build("clockshim", slices.Concat(source, Calls), "-nostdlib"); err != nil {
			return "", fmt.Errorf("the clock of a node: %w; or set the path of a library that was built elsewhere in $%s", err, PathVariable)
		}
		return path, nil
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("$%s: %w", PathVariable, err)
	}
	if path, err = filepath.Abs(path); err == nil {
		err = preloadable(path)
	}
	if err != nil {
		return "", fmt.Errorf("clock shim: %w", err)
	}
	return path, nil
}

// Environment returns the environment variables with which a program uses the clock in the file
// clock. Both paths must be valid for that program.
func Environment(library, clock string) []string {
	return []string{"LD_PRELOAD=" + library, offsetVariable + "=" + clock}
}

// Clock is a wall clock in a file. Its methods may be called concurrently.
type Clock struct {
	path string

	mu   sync.Mutex
	page []byte // nil after Close
}

// size is the size of a clock's file in bytes. The file holds one int64: the clock's offset.
const size = int(unsafe.Sizeof(int64(0)))

// New makes a clock in a new file. The clock shows the machine's time.
func New(path string) (*Clock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644) // other users read the file, in containers too
	if err != nil {
		return nil, fmt.Errorf("clock: %w", err)
	}
	defer f.Close()
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("clock: %w", err)
	}
	page, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("clock %s: map: %w", path, err)
	}
	return &Clock{path: path, page: page}, nil
}

// Path returns the path of the clock's file.
func (c *Clock) Path() string { return c.path }

// Set makes the clock jump, so that it is ahead of the machine's clock by offset. Programs see the
// jump when they next read the clock. Setting a closed clock has no effect.
func (c *Clock) Set(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page != nil {
		atomic.StoreInt64(c.word(), int64(offset))
	}
}

// Offset returns how far the clock is ahead of the machine's clock; 0 for a closed clock.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return 0
	}
	return time.Duration(atomic.LoadInt64(c.word()))
}

// word points to the offset in the file. Access must be atomic, or a reader might see half of a
// written value.
func (c *Clock) word() *int64 { return (*int64)(unsafe.Pointer(unsafe.SliceData(c.page))) }

// Close frees the clock's memory but keeps its file, which programs may still use. Close may be
// called twice.
func (c *Clock) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return nil
	}
	page := c.page
	c.page = nil
	return unix.Munmap(page)
}
