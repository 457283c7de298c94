package workloads

import "github.com/lockstorm/lockstorm/history"

// twoLocks takes two locks, in the order of their names, and releases the second long before the
// first. In half of the sections the work after that release takes one and a half leases, so that
// the client keeps the first lock only if its lease is still renewed. D3's lock is no longer
// renewed after the second lock's release: one stop flag serves all keys of a client.
//
// The workload transfer cannot show that flaw: it releases both locks at the end of the same work,
// so that nothing depends on renewals after the first release.
var twoLocks = Workload{
	Name:     "two-locks",
	Doc:      "two locks held at once; the first is held for more than a lease after the release of the second",
	Standard: true,
	Suits:    func(c history.Claims) bool { return c.Renews && !c.ReadWrite },
	Locks:    2,
	choose: func(s *Section, o Options, own float64) {
		if own < longAfterRelease {
			s.Hold = o.outlast()
		}
	},
	section: twoLocksSection,
	values:  1,
	late:    true,
}

const (
	// longAfterRelease is the share of critical sections that work for more than a lease
	// after the release of the second lock.
	longAfterRelease = 1.0 / 2
	// underBoth is a divisor: the work under both locks takes Hold/underBoth, which is within a
	// lease even in long sections.
	underBoth = 4
)

func twoLocksSection(s *session, lock string) error {
	first, second, both := s.pair()
	if !both {
		return s.hold(lock).critical(false, incrementOnce)
	}
	return s.hold(first).critical(false, func(outer *hold) error {
		err := s.hold(second).critical(false, func(inner *hold) error {
			return inner.increment(underBoth)
		})
		if err != nil {
			return err
		}
		return outer.increment(1)
	})
}
