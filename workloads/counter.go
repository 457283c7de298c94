package workloads

import "github.com/lockstorm/lockstorm/history"

// counter adds to a shared value one by one, several times in each critical
// section. To what mutex shows it adds the sum: the resource counts by itself
// what was added, in a second register. Where the first one shows less, updates
// were lost, and the difference is how many. And more is seen: who gets in late,
// when a holder has one of its updates behind it, still comes between two others.
var counter = Workload{
	Name:    "counter",
	Doc:     "several increments under the lock; a second value counts what was added, so that a difference is what was lost",
	Suits:   func(c history.Claims) bool { return !c.ReadWrite },
	section: counterSection,
	values:  2,
	tallied: true,
}

// increments is how many a critical section makes: enough to be interrupted in
// the middle, few enough for a history that can be read.
const increments = 4

func counterSection(s *session, lock string) error {
	return s.critical(hold{lock: lock, handle: s.handles[lock]}, s.enter, func(h *hold) error {
		for range increments {
			if err := s.increment(h, increments); err != nil {
				return err
			}
		}
		return nil
	})
}
