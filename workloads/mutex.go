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
	body:     incrementOnce,
	values:   1,
}

func incrementOnce(h *hold) error { return h.increment(1) }

// values reads the registers in step read; nil if the holder may not read them.
func (h *hold) values() (values []int64, err error) {
	err = h.touch(testbed.StepRead, func() (err error) {
		values, err = h.read()
		return err
	})
	return values, err
}

// increment adds one to the first register: it reads, does one of the section's equal parts of
// work, and writes.
func (h *hold) increment(parts int) error {
	values, err := h.values()
	if err != nil {
		return err
	}
	if err := h.work(parts); err != nil {
		return err
	}
	if values == nil {
		return nil
	}
	return h.touch(testbed.StepTouch, func() error { return h.lateWrite(values[0] + 1) })
}
