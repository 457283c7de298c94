package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// A lock's key may hold the end of the lease as a value, and then needs no TTL. If two clients race
// to take over a lease that has ended, the loser was kept out by the winner. The old lease's key
// kept out neither client.
func TestAKeyWithoutATTLThatIsTakenOverKeptNobodyOut(t *testing.T) {
	tales(t, []tale{
		{"two come at once", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.nemesis(20, crash(0))
			s.invoke(2998, 1, history.FAcquire)
			s.invoke(2998.1, 2, history.FAcquire)
			s.cmd(2999, 1, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(3000, 2, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(3000.2, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(4000))
			s.done(3001, 1, history.OK)
			s.done(3002, 2, history.Fail)
			s.give(3050, 1, "1", "DEL", "lock")
		}, nil},
		{"one asked before it was over", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.nemesis(20, crash(0))
			s.busy(1000, 2, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.invoke(1298, 1, history.FAcquire)
			s.invoke(1298.1, 2, history.FAcquire)
			s.cmd(1299, 1, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(1300, 2, quoted(millisOf(1010)), "HGET", "lock", "until")
			s.cmd(1300.2, 1, "0", "HSET", "lock", "owner", "b", "until", millisOf(2300))
			s.done(1301, 1, history.OK)
			s.done(1302, 2, history.Fail)
			s.give(1350, 1, "1", "DEL", "lock")
		}, []string{"liveness: orphaned-key"}},
		{"it is taken over long after it was over", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.nemesis(20, crash(0))
			for at := 500.0; at < 4000; at += 100 {
				s.busy(at, 2, quoted(millisOf(1010)), "HGET", "lock", "until")
			}
			s.takesOver(4100, 1, "b", 1010, false)
			s.give(4200, 1, "1", "DEL", "lock")
		}, []string{"liveness: no-expiry", "liveness: orphaned-key"}},
		{"it is taken over late, when others had asked for a whole lease", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.nemesis(20, crash(0))
			for at := 500.0; at < 1900; at += 100 {
				s.busy(at, 2, quoted(millisOf(1010)), "HGET", "lock", "until")
			}
			s.takesOver(1950, 1, "b", 1010, false)
			s.give(2000, 1, "1", "DEL", "lock")
		}, []string{"liveness: no-expiry", "liveness: orphaned-key"}},
		{"it stays", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.nemesis(20, crash(0))
			s.healed(25)
			for at := 3000.0; at < 3500; at += 100 {
				s.busy(at, 2, quoted(millisOf(1010)), "HGET", "lock", "until")
			}
			s.keys(3600)
		}, []string{"liveness: no-expiry for ever"}},
	})
}

// A promoted replica may lack the last EXPIRE, and have the TTL of an earlier one instead. If that
// TTL is longer than the recipe claims, the cause is long-lease, as on a primary.
func TestATTLThatAPromotedReplicaHasWasGivenByACommand(t *testing.T) {
	tales(t, []tale{{"a lease that an extension made too long", "set-nx-px", func(s *story) {
		s.take(10, 0, "OK", "SET", "lock", "a", "NX", "PX", "1000")
		s.cmd(20, 0, "1", "EXPIRE", "lock", "1000")
		s.cmd(300, 0, "1", "EXPIRE", "lock", "1") // which the replica has not heard of
		s.give(400, 0, "1", s.cad("a")...)
		s.promote(500, "n1")
		for at := 600.0; at < 4000; at += 100 {
			s.busy(at, 1, "nil", "SET", "lock", "b", "NX", "PX", "1000")
		}
	}, []string{"liveness: long-lease", "liveness: orphaned-key"}}})
}
