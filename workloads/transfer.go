package workloads

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// transfer moves one unit from an account to the next, each of which has a lock of its
// own: both are held at once. They are taken in the order of their names, so that
// nobody waits for who waits for him, and whoever does not get the second one for a
// while gives the first one back before its lease is over. Together the accounts have
// always nothing; where they have more or less, a transfer was lost by half.
var transfer = Workload{
	Name:    "transfer",
	Doc:     "two locks held at once, taken in a fixed order: a unit goes from one account to the next",
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	Locks:   2,
	section: transferSection,
	values:  1,
}

func transferSection(s *session, lock string) error {
	from := min(s.current.Lock, s.Opts.Keys-2)
	if from < 0 || s.healing() { // each lock has its turn alone
		return balanceSection(s, lock)
	}
	first, second := lockName(from), lockName(from+1)
	return s.critical(hold{lock: first, handle: s.handles[first]}, s.enter, func(out *hold) error {
		s.current.Patience = s.Opts.TTL/3 + offBeat
		return s.critical(hold{lock: second, handle: s.handles[second]}, s.enter, func(in *hold) error {
			return s.move(out, in)
		})
	})
}

// balanceSection writes what one account has again.
func balanceSection(s *session, lock string) error {
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enter, func(h *hold) error {
		values, err := s.balance(h)
		if err != nil || values == nil {
			return err
		}
		return s.touch(h, testbed.StepTouch, func() error { return s.write(h, values[0]) })
	})
}

// balance is what an account has; nil if the holder may not look.
func (s *session) balance(h *hold) (values []int64, err error) {
	err = s.touch(h, testbed.StepRead, func() (err error) {
		values, err = s.read(h)
		return err
	})
	return values, err
}

// move moves a unit, unless either lease is over by then: nobody writes one half who
// knows that he may not write the other.
func (s *session) move(out, in *hold) error {
	had, err := s.balance(out)
	if err != nil || had == nil {
		return err
	}
	has, err := s.balance(in)
	if err != nil || has == nil {
		return err
	}
	if err := s.work(in, 1); err != nil {
		return err
	}
	if may, err := s.look(out); err != nil || !may {
		return err
	}
	return s.touch(in, testbed.StepTouch, func() error {
		if err := s.write(out, had[0]-1); err != nil || out.lost {
			return err
		}
		return s.write(in, has[0]+1)
	})
}
