package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// A client finds another client's key without a TTL and gives it one. That prolongs no lease. It
// does harm only if this TTL is shorter than the owner's lease, or if the lock relies on keys without
// a TTL.
func TestTheFirstTTLOfAnothersKey(t *testing.T) {
	repaired := func(ttl string) func(*story) { // as in "Redis in Action": another client adds a missing TTL
		return func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "t0")
			s.invoke(11, 1, history.FAcquire)
			s.cmd(12, 1, "0", "SETNX", "lock", "t1")
			s.cmd(13, 1, "-1", "TTL", "lock")
			s.cmd(14, 1, "1", "PEXPIRE", "lock", ttl)
			s.done(15, 1, history.Fail)
		}
	}
	released := func(s *story) {
		s.done(18, 0, history.OK)
		s.give(30, 0, "1", s.cad("t0")...)
	}
	tales(t, []tale{
		{"its owner gives it its own", "set-nx-px", func(s *story) {
			repaired("1000")(s)
			s.cmd(16, 0, "1", "PEXPIRE", "lock", "1000")
			released(s)
		}, nil},
		{"its owner gives it its own, after a short one", "set-nx-px", func(s *story) {
			repaired("100")(s)
			s.cmd(16, 0, "1", "PEXPIRE", "lock", "1000")
			released(s)
		}, nil},
		{"its owner gives it none", "set-nx-px", func(s *story) {
			repaired("1000")(s)
			released(s)
		}, nil},
		{"its owner died", "set-nx-px", func(s *story) {
			repaired("1000")(s)
			s.nemesis(18, crash(0))
			s.busy(500, 1, "0", "SETNX", "lock", "t1")
			s.take(1100, 1, "1", "SETNX", "lock", "t1")
			s.give(1200, 1, "1", s.cad("t1")...)
		}, []string{"liveness: orphaned-key"}},
		{"its owner outlives the lease", "set-nx-px", func(s *story) {
			repaired("1000")(s)
			s.done(18, 0, history.OK)
			s.hold(1100, 1150, 1, "t1")
			s.give(1200, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: lease-outlived"}},
		{"it is shorter than the lease", "set-nx-px", func(s *story) {
			repaired("100")(s)
			s.done(18, 0, history.OK)
			s.hold(200, 250, 1, "t1")
			s.give(300, 0, "0", s.cad("t0")...)
		}, []string{"exclusion: foreign-renewal", "ownership: foreign-renewal"}},
		{"a lock that promises no end", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.cmd(20, 1, "1", "EXPIRE", "lock", "1")
			s.invoke(2000, 0, history.FRelease)
			s.cmd(2001, 0, "0", "DEL", "lock")
			s.done(2002, 0, history.OK)
		}, []string{"ownership: foreign-renewal"}},
		{"the second one prolongs", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "t0")
			s.cmd(11, 0, "1", "PEXPIRE", "lock", "1000")
			s.done(12, 0, history.OK)
			s.cmd(20, 1, "1", "PEXPIRE", "lock", "2000")
			s.give(30, 0, "1", s.cad("t0")...)
		}, []string{"ownership: foreign-renewal"}},
		{"it takes the first from the owner's and gives a longer one", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.cmd(20, 1, "1", "PERSIST", "lock")
			s.cmd(21, 1, "1", "PEXPIRE", "lock", "2000")
			s.give(30, 0, "1", s.cad("t0")...)
		}, []string{"ownership: foreign-renewal"}},
	})
}
