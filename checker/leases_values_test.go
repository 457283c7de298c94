package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// takesUntil adds an acquire that puts its owner and the end of its lease in a hash. fresh says
// that the hash did not exist before.
func (s *story) takesUntil(at float64, client int, fresh bool, owner string) {
	reply := "2"
	if !fresh {
		reply = "0"
	}
	s.take(at, client, reply, "HSET", "lock", "owner", owner, "until", millisOf(at+1000))
}

// extends adds a command that postpones the lease's end in the hash.
func (s *story) extends(at float64, client int) {
	s.cmd(at, client, "0", "HSET", "lock", "until", millisOf(at+1000))
}

// takesOver adds an acquire that reads from the hash when a lease ends (until), and replaces the
// lease by its own. With remove, it deletes the hash first.
func (s *story) takesOver(at float64, client int, owner string, until float64, remove bool) {
	s.invoke(at-2, client, history.FAcquire)
	s.cmd(at-1, client, quoted(millisOf(until)), "HGET", "lock", "until")
	reply := "0"
	if remove {
		s.cmd(at-0.5, client, "1", "DEL", "lock")
		reply = "2"
	}
	s.cmd(at, client, reply, "HSET", "lock", "owner", owner, "until", millisOf(at+1000))
	s.done(at+1, client, history.OK)
}

// An extension that only the old primary has is lost in a failover, whether the extension is a new
// TTL or a new value.
func TestExtensionsInValuesThatWereLost(t *testing.T) {
	split := func(remove bool) func(*story) {
		return func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.split(50, 1)
			s.extends(600, 0)
			s.extends(1000, 0)
			s.at("n1")
			s.takesOver(1100, 1, "b", 1010, remove)
			s.give(1200, 1, "1", "DEL", "lock")
			s.at("n0")
			s.give(1250, 0, "1", "DEL", "lock")
			s.promote(1300, "n1")
		}
	}
	failover := func(remove bool) func(*story) {
		return func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.extends(600, 0)
			s.promote(700, "n1")
			s.takesOver(1100, 1, "b", 1010, remove)
			s.invoke(1199, 0, history.FRelease)
			s.cmd(1200, 0, quoted("b"), "HGET", "lock", "owner")
			s.done(1201, 0, history.Fail)
			s.give(1250, 1, "1", "DEL", "lock")
		}
	}
	tales(t, []tale{
		{"by a split, and replaced", "set-nx-px", split(false), []string{"exclusion: server-lost-key"}},
		{"by a split, and removed", "set-nx-px", split(true), []string{"exclusion: server-lost-key"}},
		{"by a split, of a lock that renews", "set-nx-px-watchdog", split(false), []string{"exclusion: server-lost-key"}},
		{"by a failover, and replaced", "set-nx-px", failover(false), []string{"exclusion: server-lost-key"}},
		{"by a failover, and removed", "set-nx-px", failover(true), []string{"exclusion: server-lost-key"}},
		{"by a failover, of a lock that renews", "set-nx-px-watchdog", failover(false), []string{"exclusion: server-lost-key"}},
		{"by a failover, and the key's TTL outlasts the lease", "set-nx-px", func(s *story) {
			s.invoke(8, 0, history.FAcquire)
			s.cmd(9, 0, "1", "ZADD", "lock", millisOf(1009), "t0")
			s.cmd(10, 0, "1", "PEXPIRE", "lock", "2000")
			s.done(11, 0, history.OK)
			s.cmd(599, 0, "0", "ZADD", "lock", millisOf(1599), "t0")
			s.cmd(600, 0, "1", "PEXPIRE", "lock", "2000")
			s.promote(700, "n1")
			s.cmd(701, 2, "1309", "PTTL", "lock")
			s.invoke(1098, 1, history.FAcquire)
			s.cmd(1099, 1, "1", "ZREMRANGEBYSCORE", "lock", "-inf", millisOf(1098))
			s.cmd(1100, 1, "1", "ZADD", "lock", millisOf(2100), "t1")
			s.done(1101, 1, history.OK)
			s.give(1200, 1, "1", "ZREM", "lock", "t1")
			s.give(1250, 0, "0", "ZREM", "lock", "t0")
		}, []string{"exclusion: server-lost-key"}},
		{"a lease that is overrun on both sides", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.split(50, 1)
			s.at("n1")
			s.takesOver(1100, 1, "b", 1010, false)
			s.give(1200, 1, "1", "DEL", "lock")
			s.at("n0")
			s.give(1250, 0, "1", "DEL", "lock")
			s.promote(1300, "n1")
		}, []string{"exclusion: lease-outlived"}},
		{"a lease that is overrun after the failover kept its extension", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.extends(100, 0)
			s.promote(700, "n1")
			s.takesOver(1150, 1, "b", 1100, false)
			s.give(1200, 1, "1", "DEL", "lock")
			s.invoke(1299, 0, history.FRelease)
			s.cmd(1300, 0, "nil", "HGET", "lock", "owner")
			s.done(1301, 0, history.Fail)
		}, []string{"exclusion: lease-outlived"}},
		{"a live lease that is taken over after a failover", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.extends(600, 0)
			s.promote(700, "n1")
			s.takesOver(1100, 1, "b", 1600, false)
			s.give(1200, 1, "1", "DEL", "lock")
			s.invoke(1299, 0, history.FRelease)
			s.cmd(1300, 0, "nil", "HGET", "lock", "owner")
			s.done(1301, 0, history.Fail)
		}, []string{"exclusion: race", "ownership: race"}},
		{"a live lease that is removed after a failover", "set-nx-px", func(s *story) {
			s.takesUntil(10, 0, true, "a")
			s.extends(600, 0)
			s.promote(700, "n1")
			s.takesOver(1100, 1, "b", 1600, true)
			s.give(1200, 1, "1", "DEL", "lock")
			s.invoke(1299, 0, history.FRelease)
			s.cmd(1300, 0, "nil", "HGET", "lock", "owner")
			s.done(1301, 0, history.Fail)
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"places in a queue that only the old primary renewed", "set-nx-px", func(s *story) {
			s.invoke(8, 2, history.FAcquire)
			s.cmd(10, 2, "1", "ZADD", "lock", "1010", "owner-2")
			s.cmd(11, 2, `["owner-2"]`, "ZRANGE", "lock", "0", "0")
			s.done(12, 2, history.OK)
			s.invoke(19, 0, history.FAcquire)
			s.cmd(20, 0, "1", "ZADD", "lock", "1020", "owner-0")
			s.cmd(21, 0, `["owner-2"]`, "ZRANGE", "lock", "0", "0")
			s.split(50, 1)
			s.give(900, 2, "1", "ZREM", "lock", "owner-2")
			s.cmd(950, 0, "0", "ZADD", "lock", "1950", "owner-0")
			s.cmd(951, 0, `["owner-0"]`, "ZRANGE", "lock", "0", "0")
			s.done(952, 0, history.OK)
			s.at("n1")
			s.invoke(1198, 1, history.FAcquire)
			s.cmd(1199, 1, "2", "ZREMRANGEBYSCORE", "lock", "-inf", "1198")
			s.cmd(1200, 1, "1", "ZADD", "lock", "2200", "owner-1")
			s.cmd(1201, 1, `["owner-1"]`, "ZRANGE", "lock", "0", "0")
			s.done(1202, 1, history.OK)
			s.give(1250, 1, "1", "ZREM", "lock", "owner-1")
			s.at("n0")
			s.give(1300, 0, "1", "ZREM", "lock", "owner-0")
			s.promote(1400, "n1")
		}, []string{"exclusion: server-lost-key"}},
		{"a turn that came on the old primary", "set-nx-px", func(s *story) {
			s.invoke(8, 2, history.FAcquire)
			s.cmd(10, 2, "1", "RPUSH", "lock", "owner-2")
			s.cmd(11, 2, quoted("owner-2"), "LINDEX", "lock", "0")
			s.done(12, 2, history.OK)
			s.invoke(19, 0, history.FAcquire)
			s.cmd(20, 0, "2", "RPUSH", "lock", "owner-0")
			s.cmd(21, 0, quoted("owner-2"), "LINDEX", "lock", "0")
			s.split(50, 1)
			s.give(900, 2, quoted("owner-2"), "LPOP", "lock")
			s.cmd(951, 0, quoted("owner-0"), "LINDEX", "lock", "0")
			s.done(952, 0, history.OK)
			s.at("n1")
			s.invoke(1198, 1, history.FAcquire)
			s.cmd(1199, 1, "1", "DEL", "lock")
			s.cmd(1200, 1, "1", "RPUSH", "lock", "owner-1")
			s.cmd(1201, 1, quoted("owner-1"), "LINDEX", "lock", "0")
			s.done(1202, 1, history.OK)
			s.give(1250, 1, quoted("owner-1"), "LPOP", "lock")
			s.at("n0")
			s.give(1300, 0, quoted("owner-0"), "LPOP", "lock")
			s.promote(1400, "n1")
		}, []string{"exclusion: server-lost-key"}},
	})
}
