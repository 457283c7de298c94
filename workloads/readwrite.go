package workloads

import (
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// readWrite has readers and writers that share two registers, which must be equal. A writer changes one
// register, works, and changes the other. A reader that gets in between these changes sees different
// values.
var readWrite = Workload{
	Name:     "read-write",
	Doc:      "readers and writers on a pair of values that must be equal",
	Standard: true,
	Suits:    func(c history.Claims) bool { return c.ReadWrite },
	choose: func(s *Section, o Options, own float64) {
		if s.Mode = history.Write; own < readers && !o.Writers {
			s.Mode = history.Read
		}
	},
	section: readWriteSection,
	values:  2,
}

// readers is the share of critical sections that only read. It is two of three, so that of three
// clients often two read while one wants to write.
const readers = 2.0 / 3

func readWriteSection(s *session, lock string) error {
	rw, ok := s.handles[lock].(locks.RWLocker)
	if !ok {
		return fmt.Errorf("recipe %s claims to be a read-write lock but has no Read and Write", s.Claims.Lock)
	}
	h := &hold{session: s, lock: lock, mode: history.Write, handle: rw.Write()}
	body := writeBoth
	if s.current.Mode == history.Read {
		h.mode, h.handle, body = history.Read, rw.Read(), readTwice
	}
	return h.critical(false, body)
}

func readTwice(h *hold) error {
	look := func() error {
		_, err := h.read()
		return err
	}
	if err := h.touch(testbed.StepRead, look); err != nil {
		return err
	}
	if err := h.work(1); err != nil {
		return err
	}
	return h.touch(testbed.StepTouch, look)
}

func writeBoth(h *hold) error {
	var next int64
	err := h.touch(testbed.StepRead, func() error {
		values, err := h.read()
		if err != nil || values == nil {
			return err
		}
		next = values[0] + 1
		return h.write(next, values[1])
	})
	if err != nil {
		return err
	}
	if err := h.work(1); err != nil {
		return err
	}
	return h.touch(testbed.StepTouch, func() error { return h.lateWrite(next, next) })
}
