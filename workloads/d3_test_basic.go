package workloads

import (
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// d3TestBasic is D3's testBasicLockUnLock: a client takes the lock and releases it after 1 s, a tenth of
// the lease. During this second another client tries to lock, and then to unlock with a token of its own.
// Both attempts must fail.
//
// docs/measurements.md describes what the test would have shown.
var d3TestBasic = Workload{
	Name:     "d3-test-basic",
	Doc:      "D3's testBasicLockUnLock: while one client holds the lock another tries to lock, and to unlock",
	Document: "D3",
	Clients:  2,
	Suits:    func(c history.Claims) bool { return !c.ReadWrite },
	section:  d3TestBasicSection,
	pause:    untilNextTest,
}

const (
	testHold  = 10 // divisor of the lease: how long the lock is held
	testOther = 20 // divisor of the lease: when the other client comes
	testEvery = 2  // divisor of the lease: the time between two runs of the test
)

// untilNextTest returns the time to the next run of the test.
func untilNextTest(s *session, _ time.Duration) time.Duration {
	every, now := max(s.Opts.TTL/testEvery, time.Millisecond), s.Env.Now()
	return (now/every+1)*every + s.stagger() - now
}

func d3TestBasicSection(s *session, lock string) error {
	h := s.hold(lock)
	if s.id%2 == 0 || s.healing() {
		return h.critical(true, func(*hold) error { return s.sleep(s.Opts.TTL / testHold) })
	}
	if err := s.sleep(s.Opts.TTL / testOther); err != nil {
		return err
	}
	if _, err := h.enterOnce(); err != nil {
		return err
	}
	if h.lease == (locks.Lease{}) {
		h.lease = locks.Lease{Token: fmt.Sprintf("client-%d", s.id)}
		h.record = s.recorded(h.lease)
	}
	return h.leave()
}
