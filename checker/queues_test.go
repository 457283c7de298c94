package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// joins makes c1 ask for a lock that c0 holds. The lock is a list of owners: c0's entry is its
// head, c1's entry stands behind it.
func joins(s *story) {
	s.invoke(9, 0, history.FAcquire)
	s.cmd(10, 0, "1", "RPUSH", "lock", "owner-0")
	s.cmd(11, 0, quoted("owner-0"), "LINDEX", "lock", "0")
	s.done(12, 0, history.OK)
	s.invoke(19, 1, history.FAcquire)
	s.cmd(20, 1, "2", "RPUSH", "lock", "owner-1")
	s.cmd(21, 1, quoted("owner-0"), "LINDEX", "lock", "0")
}

// A place in a queue is no grant before the client's turn has come.
func TestAnEntryThatWaitsIsNoGrant(t *testing.T) {
	tales(t, []tale{
		{"removed and joined again", "set-nx-px", func(s *story) {
			joins(s)
			s.cmd(600, 2, "1", "LREM", "lock", "0", "owner-1")
			s.cmd(610, 1, "nil", "LPOS", "lock", "owner-1")
			s.cmd(611, 1, "2", "RPUSH", "lock", "owner-1")
			s.give(700, 0, quoted("owner-0"), "LPOP", "lock")
			s.cmd(710, 1, quoted("owner-1"), "LINDEX", "lock", "0")
			s.done(711, 1, history.OK)
			s.give(720, 1, quoted("owner-1"), "LPOP", "lock")
		}, nil},
		{"removed with a dead head by a reaper of scores", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "ZADD", "lock", "510", "owner-0")
			s.cmd(11, 0, `["owner-0"]`, "ZRANGE", "lock", "0", "0")
			s.done(12, 0, history.OK)
			s.nemesis(15, crash(0))
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "1", "ZADD", "lock", "520", "owner-1")
			s.cmd(21, 1, `["owner-0"]`, "ZRANGE", "lock", "0", "0")
			s.cmd(1600, 2, "2", "ZREMRANGEBYSCORE", "lock", "-inf", "1000")
			s.cmd(1610, 1, "1", "ZADD", "lock", "2110", "owner-1")
			s.cmd(1611, 1, `["owner-1"]`, "ZRANGE", "lock", "0", "0")
			s.done(1612, 1, history.OK)
			s.give(1650, 1, "1", "ZREM", "lock", "owner-1")
		}, []string{"liveness: orphaned-key"}},
		{"of a queue beside the lock", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "1", "RPUSH", "queue", "owner-1")
			s.cmd(21, 1, "nil", setPX("t1")...)
			s.cmd(600, 2, "1", "LREM", "queue", "0", "owner-1")
			s.cmd(610, 1, "1", "RPUSH", "queue", "owner-1")
			s.give(700, 0, "1", s.cad("t0")...)
			s.cmd(710, 1, "OK", setPX("t1")...)
			s.cmd(711, 1, quoted("owner-1"), "LPOP", "queue")
			s.done(712, 1, history.OK)
			s.give(720, 1, "1", s.cad("t1")...)
		}, nil},
		{"removed at the head of a queue beside a lock that is free", "set-nx-px", func(s *story) {
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "1", "RPUSH", "queue", "owner-1")
			s.cmd(600, 2, "1", "LREM", "queue", "0", "owner-1")
			s.cmd(710, 1, "1", "RPUSH", "queue", "owner-1")
			s.cmd(711, 1, "OK", setPX("t1")...)
			s.cmd(712, 1, quoted("owner-1"), "LPOP", "queue")
			s.done(713, 1, history.OK)
			s.give(720, 1, "1", s.cad("t1")...)
		}, nil},
		{"a lock of two keys, one of which is removed and put there again", "set-nx-px", func(s *story) {
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "1", "SETNX", "one", "t1")
			s.cmd(30, 2, "1", "DEL", "one")
			s.cmd(40, 1, "1", "SETNX", "one", "t1")
			s.cmd(41, 1, "1", "SETNX", "two", "t1")
			s.done(42, 1, history.OK)
			s.give(50, 1, "2", "DEL", "one", "two")
		}, []string{"ownership: foreign-delete"}},
		{"a key that is taken back and put there again", "set-nx-px", func(s *story) {
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "1", "SETNX", "one", "t1")
			s.cmd(21, 1, "1", "DEL", "one")
			s.cmd(22, 1, "1", "SETNX", "two", "t1")
			s.cmd(23, 1, "1", "SETNX", "one", "t1")
			s.done(42, 1, history.OK)
			s.cmd(45, 2, "1", "DEL", "one")
			s.give(50, 1, "1", "DEL", "one", "two")
		}, []string{"ownership: foreign-delete"}},
		{"removed at its turn", "set-nx-px", func(s *story) {
			joins(s)
			s.give(700, 0, quoted("owner-0"), "LPOP", "lock")
			s.cmd(710, 1, quoted("owner-1"), "LINDEX", "lock", "0")
			s.cmd(711, 2, "1", "LREM", "lock", "0", "owner-1")
			s.done(712, 1, history.OK)
			s.give(720, 1, "nil", "LPOP", "lock")
		}, []string{"ownership: foreign-delete"}},
		{"removed beside another of two", "set-nx-px", func(s *story) {
			s.e.Claims.Permits = 2
			joins(s)
			s.cmd(30, 2, "1", "LREM", "lock", "0", "owner-1")
			s.cmd(31, 1, "2", "RPUSH", "lock", "owner-1")
			s.done(32, 1, history.OK)
			s.give(700, 0, quoted("owner-0"), "LPOP", "lock")
			s.give(720, 1, quoted("owner-1"), "LPOP", "lock")
		}, []string{"ownership: foreign-delete"}},
		{"removed behind an entry that is over, with the key", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "ZADD", "lock", "1010", "owner-0")
			s.done(12, 0, history.OK)
			s.nemesis(15, crash(0))
			s.invoke(1999, 1, history.FAcquire)
			s.cmd(2000, 1, "0", "ZCOUNT", "lock", "2000", "inf")
			s.cmd(2001, 1, "1", "ZADD", "lock", "3001", "owner-1")
			s.cmd(2002, 2, "1", "DEL", "lock")
			s.cmd(2003, 1, "0", "PEXPIRE", "lock", "9000")
			s.done(2004, 1, history.OK)
			s.give(2050, 1, "0", "ZREM", "lock", "owner-1")
		}, []string{"ownership: foreign-delete"}},
		{"a key that is put back in the place of one that was removed", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "t0")
			s.cmd(20, 1, "1", "DEL", "lock")
			s.cmd(30, 0, "OK", "SET", "lock", "t0", "PX", "1000")
			s.done(32, 0, history.OK)
			s.give(50, 0, "1", s.cad("t0")...)
		}, []string{"ownership: foreign-delete"}},
	})
}

// Another client removes a waiting client's entry from a queue, but the waiting client gets the
// lock later. Even then the other entries of the queue are no orphans.
func TestAPlaceThatWasLostOnceDoesNotMakeTheOthersOrphans(t *testing.T) {
	queue := func(removed bool) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "1", "RPUSH", "queue", "owner-1")
			s.cmd(21, 1, "1", "PEXPIRE", "queue", "10000")
			s.cmd(22, 1, "nil", setPX("t1")...)
			if removed {
				s.cmd(30, 2, "1", "LREM", "queue", "0", "owner-1")
				s.cmd(40, 1, "1", "RPUSH", "queue", "owner-1")
				s.cmd(41, 1, "1", "PEXPIRE", "queue", "10000")
			}
			s.give(50, 0, "1", s.cad("t0")...)
			s.cmd(60, 1, "OK", setPX("t1")...)
			s.cmd(61, 1, quoted("owner-1"), "LPOP", "queue")
			s.done(62, 1, history.OK)
			s.tries(70, 3, "", history.Fail, []string{"1", "RPUSH", "queue", "owner-3"}, []string{"1", "PEXPIRE", "queue", "10000"}, append([]string{"nil"}, setPX("t3")...))
			s.give(100, 1, "1", s.cad("t1")...)
			s.tries(110, 2, "", history.Fail, []string{quoted("owner-3"), "LINDEX", "queue", "0"})
			s.take(130, 4, "OK", setPX("t4")...)
			s.tries(140, 3, "", history.Fail, append([]string{"nil"}, setPX("t3")...))
			s.give(150, 4, "1", s.cad("t4")...)
		}
	}
	tales(t, []tale{
		{"nobody lost it", "set-nx-px", queue(false), nil},
		{"one was removed", "set-nx-px", queue(true), nil},
	})
}

// A release that takes the next client out of the queue and puts its name in the lock ends nothing of that
// client's, also if names are numbers. A release that does so to another's lock ends that one's.
func TestALockThatIsHandedOverByName(t *testing.T) {
	const hand = `redis.call("SET", KEYS[1], redis.call("LPOP", KEYS[2]), "PX", 1000) return 1`
	waits := func(s *story, at float64, name string) {
		s.invoke(at-1, 1, history.FAcquire)
		s.cmd(at, 1, "1", "RPUSH", "queue", name)
		s.cmd(at+1, 1, "nil", setPX(name)...)
	}
	gets := func(s *story, at float64, name string) {
		s.cmd(at, 1, quoted(name), "GET", "lock")
		s.done(at+1, 1, history.OK)
		s.give(at+50, 1, "1", "DEL", "lock")
	}
	for _, names := range [][3]string{{"n-0", "n-1", "n-2"}, {"70", "71", "72"}} {
		tales(t, []tale{
			{"by its owner, to " + names[1], "set-nx-px", func(s *story) {
				s.take(10, 0, "OK", setPX(names[0])...)
				waits(s, 20, names[1])
				s.give(100, 0, "1", "EVAL", hand, "2", "lock", "queue")
				gets(s, 150, names[1])
			}, nil},
			{"by a former owner, to " + names[1], "set-nx-px", func(s *story) {
				s.take(10, 0, "OK", setPX(names[0])...)
				s.take(1100, 2, "OK", setPX(names[2])...)
				waits(s, 1110, names[1])
				s.give(1200, 0, "1", "EVAL", hand, "2", "lock", "queue")
				gets(s, 1250, names[1])
				s.give(1400, 2, "0", s.cad(names[2])...)
			}, []string{"exclusion: foreign-delete", "exclusion: lease-outlived", "ownership: foreign-delete"}},
		})
	}
}
