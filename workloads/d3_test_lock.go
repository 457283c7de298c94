package workloads

import (
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// d3TestLock is D3's testLock: ten threads try a lock without end. A thread that gets the lock
// holds it for 10 s, the whole lease, without renewal. A thread that is refused tries again after
// 10 s. The test asserts nothing and never ends. It logs the grants and their times, but no
// releases. In this workload the times scale with the lease, and the holder increments a counter,
// as the name of the document's key, increase_i, suggests.
//
// docs/measurements.md describes what the test would have shown.
var d3TestLock = Workload{
	Name:     "d3-test-lock",
	Doc:      "D3's testLock: ten clients hold the lock for exactly a lease; a refused client tries again after a lease",
	Document: "D3",
	Clients:  10,
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	choose:   func(s *Section, o Options, _ float64) { s.Hold, s.Rest = o.TTL.Round(time.Microsecond), 0 },
	section:  d3TestLockSection,
	values:   1,
	late:     true,
}

func d3TestLockSection(s *session, lock string) error {
	h := s.hold(lock)
	ok, err := h.enterOnce()
	switch {
	case err != nil || !ok && s.healing():
		return err
	case !ok:
		return s.sleep(s.Opts.TTL)
	}
	return h.within(func() error {
		if err := s.client.Step(s.ctx, testbed.StepHold); err != nil {
			return err
		}
		if err := h.increment(1); err != nil {
			return err
		}
		return h.leave()
	})
}
