package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// If two clients hold a lock that keeps its state in each process and not in Redis, the cause is
// no-key, and not unclassified.
func TestALockThatKeepsNothingInRedisIsTold(t *testing.T) {
	tales(t, []tale{
		{"commands that name no key", "set-nx-px", func(s *story) {
			s.asks(10, 0, history.OK, []string{"PONG", "PING"})
			s.asks(20, 1, history.OK, []string{"PONG", "PING"})
			for client, at := range []float64{100, 110} {
				s.invoke(at, client, history.FRelease)
				s.done(at+1, client, history.OK)
			}
		}, []string{"exclusion: no-key"}},
		{"no commands, on nodes whose keys were seen", "set-nx-px", func(s *story) {
			twoHoldersByExpiry(s)
			s.e.Commands = nil
		}, []string{"exclusion: no-key", "liveness: unknown"}},
		{"another client had a key of it", "set-nx-px", func(s *story) {
			s.hold(1, 5, 2, "t2")
			s.asks(10, 0, history.OK, []string{"PONG", "PING"})
			s.asks(20, 1, history.OK, []string{"PONG", "PING"})
		}, []string{"exclusion: unclassified", "liveness: unknown", "ownership: unknown"}},
		{"a clock that was ahead does not explain it", "set-nx-px", func(s *story) {
			s.nemesis(1, skew(1, 0, 60000))
			s.asks(10, 0, history.OK, []string{"PONG", "PING"})
			s.asks(20, 1, history.OK, []string{"PONG", "PING"})
		}, []string{"exclusion: no-key"}},
	})
}

// If a command gives a key a longer TTL than the recipe claims, the key keeps other clients out for
// too long. The cause is long-lease: the lock itself is at fault.
func TestAKeyThatIsGivenTooLongALifeIsTold(t *testing.T) {
	tales(t, []tale{
		{"a dead owner's key of three leases", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "3000")
			s.nemesis(20, crash(0))
			s.busy(500, 1, "nil", setPX("t1")...)
			s.busy(2000, 1, "nil", setPX("t1")...)
			s.hold(3100, 3150, 1, "t1")
		}, []string{"liveness: long-lease", "liveness: orphaned-key"}},
		{"a key that stands in the end", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "60000")
			s.nemesis(20, crash(0))
			s.healed(30)
			s.queue(40, 2400, 1, "nil", setPX("t1")...)
			s.keys(2500)
		}, []string{"liveness: long-lease", "liveness: orphaned-key"}},
		{"a little more than the lease", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0", "NX", "PX", "1050")
			s.nemesis(20, crash(0))
			s.busy(500, 1, "nil", setPX("t1")...)
			s.busy(1045, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
	})
}
