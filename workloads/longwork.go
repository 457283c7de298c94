package workloads

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// Each step of a holder has one place where a fault can prolong its work: hold before the
// first look at the lease, read between the read and the next look, touch between the look
// and the write.

// begin begins the work of a holder.
func (s *session) begin(h *hold) error {
	if err := s.client.Step(s.ctx, testbed.StepHold); err != nil {
		return err
	}
	return s.prolonged(h, true)
}

// prolonged works on for as long as a fault wants it. A careful client whose lease is
// reported lost stops if stops is true: its work can still be called off. If the work never
// comes back, it returns testbed.ErrHung.
func (s *session) prolonged(h *hold, stops bool) error {
	for {
		done, err := s.client.Work(s.ctx)
		if errors.Is(err, testbed.ErrHung) {
			s.hung = slices.Clone(s.held)
		}
		if err != nil || done == nil {
			return err
		}
		select {
		case <-done:
		case <-s.lostC(h):
			if err := s.lose(h); err != nil || stops {
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

// within runs what a client does as the holder of h, from the grant to the release. Holds
// may be nested.
func (s *session) within(h *hold, do func() error) error {
	s.held = append(s.held, h)
	defer func() { s.held = s.held[:len(s.held)-1] }()
	return do()
}

// hang watches, until the client's context ends, which of the leases under which the client
// hangs are reported lost. Their watchdogs go on meanwhile.
func (s *session) hang() {
	watched := slices.DeleteFunc(s.hung, func(h *hold) bool { return s.lostC(h) == nil })
	for len(watched) > 0 && s.anyLost(watched) {
		watched = slices.DeleteFunc(watched, func(h *hold) bool {
			select {
			case <-s.lostC(h):
				_ = s.lose(h) // the history may be complete already
				return true
			default:
				return false
			}
		})
	}
}

// anyLost waits until one of the leases is reported lost. It returns false if the client's
// context ended first.
func (s *session) anyLost(holds []*hold) bool {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(s.ctx.Done())}}
	for _, h := range holds {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(s.lostC(h))})
	}
	chosen, _, _ := reflect.Select(cases)
	if len(holds) > 1 {
		// On a virtual clock, all losses of one instant are reported before the next. They
		// are then recorded in the order of the holds, not of the goroutines that report them.
		time.Sleep(time.Nanosecond)
	}
	return chosen > 0
}
