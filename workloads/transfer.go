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
	return s.hold(first).critical(false, func(out *hold) error {
		s.current.Patience = s.Opts.TTL/3 + offBeat
		return s.hold(second).critical(false, out.moveTo)
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
	return s.hold(lock).critical(false, func(h *hold) error {
		values, err := h.values()
		if err != nil || values == nil {
			return err
		}
		return h.touch(testbed.StepTouch, func() error { return h.write(values[0]) })
	})
}

// moveTo moves a unit from one account to another, unless either lease has ended by then. A client that knows that it may not
// write one half does not write the other half.
func (out *hold) moveTo(in *hold) error {
	had, err := out.values()
	if err != nil || had == nil {
		return err
	}
	has, err := in.values()
	if err != nil || has == nil {
		return err
	}
	if err := in.work(1); err != nil {
		return err
	}
	if may, err := out.look(); err != nil || !may {
		return err
	}
	return in.touch(testbed.StepTouch, func() error {
		if err := out.write(had[0] - 1); err != nil || out.isLost() {
			return err
		}
		return in.write(has[0] + 1)
	})
}
