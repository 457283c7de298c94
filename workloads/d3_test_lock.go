package workloads

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// d3TestLock is D3's testLock: ten threads try a lock without end. Who gets it holds it for 10
// s, the whole lease, without renewal; who does not tries again after 10 s. The test asserts
// nothing and never ends: it logs who got the lock and when, not when it was released. The
// times scale with the lease. What the document's key guards by its name, increase_i, is
// incremented here.
//
// docs/measurements.md has what the test would have shown.
var d3TestLock = Workload{
	Name:     "d3-test-lock",
	Doc:      "D3's testLock: ten clients hold the lock for exactly a lease; whoever is refused tries again after a lease",
	Document: "D3",
	Clients:  10,
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	choose:   func(s *Section, o Options, _ float64) { s.Hold, s.Rest = o.TTL.Round(time.Microsecond), 0 },
	section:  d3TestLockSection,
	values:   1,
	once:     true,
	late:     true,
}

func d3TestLockSection(s *session, lock string) error {
	h := hold{lock: lock, handle: s.handles[lock]}
	ok, err := s.enterOnce(&h)
	switch {
	case err != nil || !ok && s.healing():
		return err
	case !ok:
		return s.sleep(s.Opts.TTL)
	}
	return s.within(&h, func() error {
		if err := s.client.Step(s.ctx, testbed.StepHold); err != nil {
			return err
		}
		if err := s.increment(&h, 1); err != nil {
			return err
		}
		return s.leave(&h)
	})
}
