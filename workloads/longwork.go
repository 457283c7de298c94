package workloads

import (
	"errors"

	"github.com/lockstorm/lockstorm/testbed"
)

// A fault can prolong a holder's work at one place in each step: in step hold before the first look
// at the lease, in step read after the read, and in step touch between the look and the write.

// begin begins the work of a holder (testbed.StepHold). A fault may prolong the work here.
func (s *session) begin(h *hold) error {
	if err := s.client.Step(s.ctx, testbed.StepHold); err != nil {
		return err
	}
	return s.prolonged(h, true)
}

// prolonged works on for as long as a fault demands. If stops is true, a careful client stops when
// its lease is reported lost, because its work can still be called off. If a fault hangs the work,
// prolonged returns testbed.ErrHung.
func (s *session) prolonged(h *hold, stops bool) error {
	for {
		done, err := s.client.Work(s.ctx)
		if errors.Is(err, testbed.ErrHung) {
			s.mu.Lock()
			s.hung = true
			s.mu.Unlock()
		}
		if err != nil || done == nil {
			return err
		}
		select {
		case <-done:
		case <-s.lostC(h):
			if err := s.told(h); err != nil || stops {
				return err
			}
			select {
			case <-done:
			case <-s.ctx.Done():
				return s.ctx.Err()
			}
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}
