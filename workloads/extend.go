package workloads

import (
	"fmt"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// extend prolongs leases on demand, like a service whose work may take longer than a lease and
// that trusts no watchdog. The client does a part of its work, extends the lease, and works on.
// Some sections outlast their first lease but extend in time. In others the client pauses before
// an extension for longer than the lease, and then extends without checking its clock. If such an
// extension succeeds although another client had the lock meanwhile, the client works on data that
// the other client has changed.
var extend = Workload{
	Name:     "extend",
	Doc:      "the holder prolongs its lease while it works; some holders do so after it has ended",
	Standard: true,
	Suits:    func(c history.Claims) bool { return c.Extends && !c.ReadWrite },
	choose:   extendChoice,
	// Late extensions come after the lease has ended, as if the work took too long.
	Like:    []string{"slow-work"},
	section: extendSection,
	values:  1,
	late:    true,
}

// Shares of critical sections: those longer than a lease, and those with a late extension.
const (
	longSections   = 1.0 / 4
	lateExtensions = 1.0 / 4
)

func extendChoice(s *Section, o Options, own float64) {
	switch {
	case own < longSections:
		s.Hold = o.outlast()
	case own < longSections+lateExtensions:
		s.Late = o.outlast()
	}
}

// extensions is the number of extensions per critical section. They divide the work into
// extensions+1 parts; even in the longest sections each part is shorter than a lease.
const extensions = 2

func extendSection(s *session, lock string) error {
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enter, s.workAndExtend)
}

// workAndExtend makes an increment whose work has several parts, with an extension between
// parts. The first extension may be late.
func (s *session) workAndExtend(h *hold) error {
	var values []int64
	err := s.touch(h, testbed.StepRead, func() (err error) {
		values, err = s.read(h)
		return err
	})
	if err != nil || values == nil {
		return err
	}
	late := s.current.Late
	s.current.Late = 0
	for range extensions {
		if err := s.work(h, extensions+1); err != nil {
			return err
		}
		lost := h.isLost() // read before the late pause: the client does not look again
		if late > 0 && !s.healing() {
			if err := s.sleep(late); err != nil {
				return err
			}
		}
		late = 0
		if lost {
			continue
		}
		if err := s.extend(h); err != nil {
			return err
		}
	}
	if err := s.work(h, extensions+1); err != nil {
		return err
	}
	return s.touch(h, testbed.StepTouch, func() error { return s.write(h, values[0]+1) })
}

// extend asks once for a longer lease and records the result. A client that is refused knows that
// its lease ended. After an unknown outcome the client keeps its old deadline. A loss that is reported
// before the answer stays a loss, whatever the answer is.
func (s *session) extend(h *hold) error {
	e, ok := h.handle.(locks.Extender)
	if !ok {
		return fmt.Errorf("recipe %s claims that leases can be prolonged but has no Extend", s.Claims.Lock)
	}
	op, err := s.Rec.Invoke(s.op(history.FExtend, *h))
	if err != nil {
		return err
	}
	s.client.Open(op.Index)
	lease, lerr := e.Extend(s.ctx, h.lease)
	s.client.Open(-1)
	if lerr == nil {
		if err := s.endWatch(h); err != nil {
			return err
		}
		h.lease, h.record = lease, s.recorded(lease)
	}
	done := s.op(history.FExtend, *h)
	done.Type, done.Reason, done.Error = outcome(lerr)
	if done, err = s.Rec.Complete(done); err != nil {
		return err
	}
	switch done.Type {
	case history.OK:
		s.watchLoss(h)
	case history.Fail:
		return s.lose(h)
	case history.Info:
		s.goOnAsNewProcess()
	}
	return s.ctx.Err()
}
