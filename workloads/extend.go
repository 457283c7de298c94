package workloads

import (
	"cmp"
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
	Like:   []string{"slow-work"},
	body:   (*hold).workAndExtend,
	values: 1,
	late:   true,
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

// workAndExtend makes an increment whose work has several parts, with an extension between
// parts. The first extension may be late.
func (h *hold) workAndExtend() error {
	values, err := h.values()
	if err != nil || values == nil {
		return err
	}
	late := h.current.Late
	h.current.Late = 0
	for range extensions {
		if err := h.work(extensions + 1); err != nil {
			return err
		}
		lost := h.isLost() // read before the late pause: the client does not look again
		if late > 0 && !h.healing() {
			if err := h.sleep(late); err != nil {
				return err
			}
		}
		late = 0
		if lost {
			continue
		}
		if err := h.extend(); err != nil {
			return err
		}
	}
	if err := h.work(extensions + 1); err != nil {
		return err
	}
	return h.touch(testbed.StepTouch, func() error { return h.write(values[0] + 1) })
}

// extend asks once for a longer lease and records the result. A client that is refused knows that
// its lease ended. After an unknown outcome the client keeps its old deadline. A loss that is reported
// before the answer stays a loss, whatever the answer is.
func (h *hold) extend() error {
	e, ok := h.handle.(locks.Extender)
	if !ok {
		return fmt.Errorf("recipe %s claims that leases can be prolonged but has no Extend", h.Claims.Lock)
	}
	var werr error
	done, err := h.perform(history.FExtend, func() error {
		lease, lerr := e.Extend(h.ctx, h.lease)
		if lerr == nil {
			werr = h.endWatch()
			h.lease, h.record = lease, h.recorded(lease)
		}
		return lerr
	})
	switch {
	case err != nil || werr != nil:
		return cmp.Or(werr, err)
	case done.Type == history.OK:
		h.watchLoss()
	case done.Type == history.Fail:
		return h.lose()
	}
	return h.ctx.Err()
}
