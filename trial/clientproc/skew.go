package clientproc

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// skew is the offset of a client process's wall clock, in memory that both sides share:
// a new offset takes effect at once, even for a frozen process.
type skew struct {
	memory []byte
	ahead  *atomic.Int64 // nanoseconds
}

// skewSize is the size of the shared file in bytes.
const skewSize = 8

// newSkew makes the shared memory, and the file through which the client process maps it.
func newSkew() (*skew, *os.File, error) {
	f, err := os.CreateTemp("", "lockstorm-clock-")
	if err != nil {
		return nil, nil, fmt.Errorf("share a clock: %w", err)
	}
	err = errors.Join(os.Remove(f.Name()), f.Truncate(skewSize))
	var s *skew
	if err == nil {
		s, err = openSkew(f)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return s, f, nil
}

// openSkew maps the shared memory from a file. The file may be closed afterwards.
func openSkew(f *os.File) (*skew, error) {
	memory, err := unix.Mmap(int(f.Fd()), 0, skewSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("share a clock: %w", err)
	}
	return &skew{memory, (*atomic.Int64)(unsafe.Pointer(&memory[0]))}, nil // pages are aligned
}

func (s *skew) set(offset time.Duration) { s.ahead.Store(int64(offset)) }

func (s *skew) get() time.Duration { return time.Duration(s.ahead.Load()) }

// close unmaps the memory; set and get must not be called any more.
func (s *skew) close() error { return unix.Munmap(s.memory) }
