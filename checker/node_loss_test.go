package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestAnEvictionEndsOnlyWhatWasEvicted(t *testing.T) {
	field := func(s *story, at float64, client int, mode history.Mode, token string) {
		s.invoke(at-1, client, history.FAcquire, mode)
		s.cmd(at, client, "1", s.script("owners-enter", []string{"lock"}, string(mode), token, "1000")...)
		s.done(at+1, client, history.OK, history.Lease{Token: token, Deadline: ms(at + 999)})
	}
	tales(t, []tale{
		{"and no grant that came after", "set-nx-px", func(s *story) {
			s.hold(10, 40, 0, "t0")
			s.evict(45)
			s.take(50, 1, "OK", setPX("t1")...)
			s.take(1100, 2, "OK", setPX("t2")...)
			s.give(1200, 1, "0", s.cad("t1")...)
			s.give(1300, 2, "1", s.cad("t2")...)
		}, []string{"exclusion: lease-outlived"}},
		{"of several keys", "fenced", func(s *story) {
			take := func(at float64, client int, token string, fence int64) {
				s.invoke(at-1, client, history.FAcquire)
				s.cmd(at, client, "1", s.script("set-and-count", []string{"lock", "lock:fence"}, token, "1000")...)
				s.done(at+1, client, history.OK, history.Lease{Token: token, Fence: fence, Deadline: ms(at + 999)})
			}
			take(10, 0, "t0", 1)
			s.evict(50, "lock:fence")
			s.give(100, 0, "1", s.cad("t0")...)
			take(200, 1, "t1", 1)
			s.give(300, 1, "1", s.cad("t1")...)
		}, []string{"fencing: fence-regressed"}},
		{"of a hash all fields", "rw-hash-owners", func(s *story) {
			field(s, 10, 0, history.Read, "token-zero")
			field(s, 50, 1, history.Read, "token-one")
			s.evict(60)
			field(s, 100, 2, history.Write, "token-two")
		}, []string{"exclusion: server-lost-key"}},
		{"and none that a field is let go of", "rw-hash-owners", func(s *story) {
			field(s, 10, 0, history.Read, "token-zero")
			s.evict(30)
			field(s, 50, 1, history.Read, "token-one")
			s.invoke(60, 0, history.FRelease, history.Read)
			s.cmd(61, 0, "0", s.script("owners-leave", []string{"lock"}, "read", "token-zero")...)
			s.done(62, 0, history.Fail)
			s.invoke(70, 1, history.FRelease, history.Read)
			s.cmd(71, 1, "1", s.script("owners-leave", []string{"lock"}, "read", "token-one")...)
			s.done(72, 1, history.OK)
		}, nil},
	})
}

func TestARestartMayLoseWhatRanAfterItWasRecorded(t *testing.T) {
	enter := func(s *story, o string) []string { return s.script("hash-enter", []string{"lock"}, o, "1") }
	leave := func(s *story, o string) []string { return s.script("hash-leave", []string{"lock"}, o) }
	tales(t, []tale{
		{"a grant on a connection of before", "reentrant-hash", func(s *story) {
			s.busy(10, 0, "nil", "GET", "other")
			s.down(50)
			s.dying(func() { s.take(52, 0, "1", enter(s, "owner-zero")...) })
			s.up(80, someWrites)
			s.take(100, 1, "1", enter(s, "owner-one")...)
			s.give(200, 1, "1", leave(s, "owner-one")...)
			s.give(300, 0, "nil", leave(s, "owner-zero")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a release on a connection of before", "set-nx-px", func(s *story) {
			s.take(10, 2, "OK", setPX("t2")...)
			s.down(50)
			s.dying(func() { s.give(53, 2, "1", s.cad("t2")...) })
			s.up(55, someWrites)
			s.queue(60, 1000, 1, "nil", setPX("t1")...)
			s.hold(1100, 1200, 1, "t1")
		}, []string{"liveness: orphaned-key"}},
		{"but nothing on a new connection", "exists-set", func(s *story) {
			s.take(2, 2, "OK", "SET", "lock", "1")
			s.give(4, 2, "1", "DEL", "lock")
			s.down(50)
			s.take(60, 0, "OK", "SET", "lock", "1") // the node serves this before its restart is recorded
			s.up(80, someWrites)
			s.take(100, 1, "OK", "SET", "lock", "1")
			s.give(200, 0, "1", "DEL", "lock")
			s.give(300, 1, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
	})
}
