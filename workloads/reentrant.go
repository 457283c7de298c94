package workloads

import (
	"errors"
	"math"
	"slices"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// reentrant takes the lock again while holding it, to a depth of one to three, and releases it as
// often. The work comes before the inner releases or, in half of the nested sections, after them, as in
// a method that calls another one that takes the same lock: an inner release must neither free the
// lock nor end its renewal. It retries a nested acquire of unknown outcome once, as services do. A recipe that counts
// both attempts then has a hold that nobody will release.
var reentrant = Workload{
	Name:     "reentrant",
	Doc:      "nested acquires by one owner around a read-modify-write",
	Standard: true,
	Suits:    func(c history.Claims) bool { return c.Reentrant },
	choose:   reentrantChoice,
	section:  reentrantSection,
	values:   1,
}

func reentrantChoice(s *Section, _ Options, own float64) {
	depth, rest := math.Modf(3 * own)
	s.Depth = 1 + int(depth)
	s.Outer = s.Depth > 1 && rest < 0.5
}

func reentrantSection(s *session, lock string) error {
	outer := s.hold(lock)
	ok, err := outer.enter()
	if err != nil || !ok {
		return err
	}
	return outer.within(outer.nest)
}

// nest re-enters the lock, works, and releases the lock as often as it was acquired.
func (outer *hold) nest() error {
	var inner []*hold
	for range outer.current.Depth - 1 {
		if err := outer.begin(); err != nil {
			return err
		}
		if err := outer.sleep(outer.Opts.Hold / 4); err != nil {
			return err
		}
		again, ok, err := outer.reenter()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		inner = append(inner, again)
	}
	if err := outer.begin(); err != nil {
		return err
	}
	if !outer.current.Outer {
		if err := outer.increment(1); err != nil {
			return err
		}
	}
	sure, err := outer.leaveInner(inner)
	if err != nil {
		return err
	}
	if outer.current.Outer && sure {
		if err := outer.increment(1); err != nil {
			return err
		}
	}
	return outer.leave()
}

// leaveInner makes the inner releases, the last first. sure is false if one was refused or had an unknown
// outcome: the client cannot count on the outer hold then.
func (outer *hold) leaveInner(inner []*hold) (sure bool, err error) {
	sure = true
	for _, h := range slices.Backward(inner) {
		if err := h.leave(); err != nil {
			return false, err
		}
		sure = sure && h.left
	}
	return sure, nil
}

// reenter acquires a lock that the client already holds: by one attempt, and by a second attempt
// if the outcome of the first is unknown. A refusal tells the holder that its lease is lost.
func (outer *hold) reenter() (inner *hold, ok bool, err error) {
	inner = outer.hold(outer.lock)
	for range 2 {
		_, lerr := inner.attempt(inner.ctx, inner.try())
		if t, _, _ := outcome(lerr); t == history.Fail || errors.Is(lerr, locks.ErrBusy) {
			if outer.isLost() {
				return inner, false, nil
			}
			return inner, false, outer.lose()
		}
		if ok, err := outer.entry(lerr); ok || err != nil {
			return inner, ok, err
		}
	}
	return inner, false, nil
}
