package workloads

import (
	"errors"

	"github.com/lockstorm/lockstorm/testbed"
)

// A fault can prolong a holder's work at one place in each step: in step hold before the first look
// at the lease, in step read after the read, and in step touch between the look and the write.

// begin begins the work of a holder (testbed.StepHold). A fault may prolong the work here.
func (h *hold) begin() error {
	if err := h.client.Step(h.ctx, testbed.StepHold); err != nil {
		return err
	}
	return h.prolonged(true)
}

// prolonged works on for as long as a fault demands. If stops is true, a careful client stops when
// its lease is reported lost, because its work can still be called off. If a fault hangs the work,
// prolonged returns testbed.ErrHung.
func (h *hold) prolonged(stops bool) error {
	for {
		done, err := h.client.Work(h.ctx)
		if errors.Is(err, testbed.ErrHung) {
			h.mu.Lock()
			h.hung = true
			h.mu.Unlock()
		}
		if err != nil || done == nil {
			return err
		}
		select {
		case <-done:
		case <-h.lostC():
			if err := h.told(); err != nil || stops {
				return err
			}
			select {
			case <-done:
			case <-h.ctx.Done():
				return h.ctx.Err()
			}
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
}
