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

// skew is by how much a client process's wall clock is ahead, in memory that both
// sides share: it counts from the moment at which it is set, also for a process
// that stands still then.
type skew struct {
	memory []byte
	ahead  *atomic.Int64 // nanoseconds
}

// skewSize is the size of its file.
const skewSize = 8

// newSkew makes the memory, and the file by which the other side reaches it.
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

// openSkew reaches the memory of that file, which may be closed then.
func openSkew(f *os.File) (*skew, error) {
	memory, err := unix.Mmap(int(f.Fd()), 0, skewSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("share a clock: %w", err)
	}
	return &skew{memory, (*atomic.Int64)(unsafe.Pointer(&memory[0]))}, nil // a page is aligned
}

func (s *skew) set(offset time.Duration) { s.ahead.Store(int64(offset)) }

func (s *skew) get() time.Duration { return time.Duration(s.ahead.Load()) }

// close gives the memory back; nobody may use it any more.
func (s *skew) close() error { return unix.Munmap(s.memory) }
