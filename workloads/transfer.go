package workloads

import (
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// transfer moves one unit between two accounts, each with its own lock; the client holds both
// locks at once. The client takes the locks in the order of their names, to avoid deadlock. If the
// client does not get the second lock in time, it releases the first lock before the first lease
// ends. The sum of all accounts must be zero; otherwise half a transfer was lost.
var transfer = Workload{
	Name:    "transfer",
	Doc:     "two locks held at once, taken in a fixed order: a unit goes from one account to the next",
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	Locks:   2,
	section: transferSection,
	values:  1,
}

func transferSection(s *session, lock string) error {
	first, second, both := s.pair()
	if !both {
		return balanceSection(s, lock)
	}
	return s.critical(hold{lock: first, handle: s.handles[first]}, s.enter, func(out *hold) error {
		s.current.Patience = s.Opts.TTL/3 + offBeat
		return s.critical(hold{lock: second, handle: s.handles[second]}, s.enter, func(in *hold) error {
			return s.move(out, in)
		})
	})
}

// pair returns the names of the two locks that the current section holds at once, in the order
// that all clients use. If both is false, the section takes only one lock: either there are not
// two locks, or the liveness phase has begun, in which a client acquires each lock by itself.
func (s *session) pair() (first, second string, both bool) {
	from := min(s.current.Lock, s.Opts.Keys-2)
	if from < 0 || s.healing() {
		return "", "", false
	}
	return lockName(from), lockName(from + 1), true
}

// balanceSection writes an account's balance back unchanged.
func balanceSection(s *session, lock string) error {
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enter, func(h *hold) error {
		values, err := s.balance(h)
		if err != nil || values == nil {
			return err
		}
		return s.touch(h, testbed.StepTouch, func() error { return s.write(h, values[0]) })
	})
}

// balance returns an account's balance as a slice of one value; nil if the holder may not read it.
func (s *session) balance(h *hold) (values []int64, err error) {
	err = s.touch(h, testbed.StepRead, func() (err error) {
		values, err = s.read(h)
		return err
	})
	return values, err
}

// move moves a unit, unless either lease has ended by then. A client that knows that it may not
// write one half does not write the other half.
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
		if err := s.write(out, had[0]-1); err != nil || out.isLost() {
			return err
		}
		return s.write(in, has[0]+1)
	})
}
