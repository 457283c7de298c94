package workloads

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// mutex is the plain use of a lock: the client reads a counter, works, and writes the counter plus
// one. A second client in the critical section causes a lost update.
var mutex = Workload{
	Name:     "mutex",
	Doc:      "read-modify-write of a counter in two steps under the lock",
	Standard: true,
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	section:  mutexSection,
	values:   1,
}

func mutexSection(s *session, lock string) error {
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enter, func(h *hold) error { return s.increment(h, 1) })
}

// increment adds one to the first register: it reads, does one of the section's equal parts of
// work, and writes.
func (s *session) increment(h *hold, parts int) error {
	var values []int64
	err := s.touch(h, testbed.StepRead, func() (err error) {
		values, err = s.read(h)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.work(h, parts); err != nil {
		return err
	}
	if values == nil {
		return nil
	}
	return s.touch(h, testbed.StepTouch, func() error { return s.lateWrite(h, values[0]+1) })
}
