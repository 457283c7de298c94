// Package clockshim gives other programs a wall clock that can be made to jump
// while they run: the machine's plus an offset. The programs' side of it is a
// library to be preloaded, which make build builds where there is a C compiler;
// time that passes, and monotonic clocks, are left alone.
package clockshim

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PathVariable is the environment variable that names the library, before the
// program's own directory is searched.
const PathVariable = "LOCKSTORM_CLOCK_SHIM"

// FileName is the library's beside the program.
const FileName = "lockstorm-clockshim.so"

// offsetVariable tells the library which file holds the offset.
const offsetVariable = "LOCKSTORM_CLOCK_OFFSET"

// Source of the library, in C, to be built with
//
//	cc -O2 -shared -fPIC -nostdlib -o lockstorm-clockshim.so clockshim.c
//
// It asks nothing of one C library that another one does not have.
//
//go:embed shim/clockshim.c
var Source []byte

// Find returns the library's absolute path: the one that $LOCKSTORM_CLOCK_SHIM
// names, else the one beside this program. The error says in one line how to get
// it.
func Find() (path string, err error) {
	if runtime.GOOS != "linux" {
		return "", errors.New("a node's clock is set by a library that needs Linux")
	}
	if path = os.Getenv(PathVariable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("$%s: %w", PathVariable, err)
		}
	} else {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find the program's directory: %w", err)
		}
		path = filepath.Join(filepath.Dir(self), FileName)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("no %s beside the program: make build makes it where there is a C compiler; or name one in $%s", FileName, PathVariable)
		}
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("clock shim: %w", err)
	}
	if strings.ContainsAny(path, " :") { // which separate libraries
		return "", fmt.Errorf("clock shim %s: a library with a blank or a colon in its path cannot be preloaded", path)
	}
	return path, nil
}

// Environment is what a program has to be started with to live by the clock in
// that file. Both paths are as the program sees them.
func Environment(library, clock string) []string {
	return []string{"LD_PRELOAD=" + library, offsetVariable + "=" + clock}
}

// Clock is a wall clock in a file. Its methods may be called concurrently.
type Clock struct {
	path string

	mu   sync.Mutex
	page []byte // nil once it is closed
}

// size of what the library reads.
const size = int(unsafe.Sizeof(int64(0)))

// New makes a clock that is right, in a new file of that name.
func New(path string) (*Clock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644) // read by others, in containers too
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

// Path of the clock's file.
func (c *Clock) Path() string { return c.path }

// Set makes the clock jump, to be ahead of the machine's by offset. Whoever lives
// by it sees that the next time he looks. A closed one stands as it is.
func (c *Clock) Set(offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page != nil {
		atomic.StoreInt64(c.word(), int64(offset))
	}
}

// Offset by which the clock is ahead; of a closed one, 0.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.page == nil {
		return 0
	}
	return time.Duration(atomic.LoadInt64(c.word()))
}

// word is the offset itself: written as a whole, or a reader might see half of it.
func (c *Clock) word() *int64 { return (*int64)(unsafe.Pointer(unsafe.SliceData(c.page))) }

// Close frees what the clock used, but leaves the file, by which programs may
// still live. It may be called twice.
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
