package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

func TestAnEvictionEndsOnlyWhatWasEvicted(t *testing.T) {
	enter := func(s *story, o string) []string { return s.script("hash-enter", []string{"lock"}, o, "1") }
	leave := func(s *story, o string) []string { return s.script("hash-leave", []string{"lock"}, o) }
	hash := func(s *story, at float64, value string) {
		s.nemesis(at, history.Op{Client: history.NoClient, F: history.FEvict, Node: "n0", Keys: []history.KeyState{
			{Key: "lock", Type: "hash", Value: history.Bytes(value), TTL: 1},
		}})
	}
	tales(t, []tale{
		{"and no grant that came before it was recorded", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.take(50, 1, "OK", setPX("t1")...)
			s.evict(60)
			s.busy(70, 2, "nil", setPX("t2")...)
			s.give(100, 0, "0", s.cad("t0")...)
			s.give(200, 1, "1", s.cad("t1")...)
			s.take(300, 2, "OK", setPX("t2")...)
			s.give(400, 2, "1", s.cad("t2")...)
		}, []string{"exclusion: server-lost-key"}},
		{"whose own end is told as what it is", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.give(40, 0, "1", s.cad("t0")...)
			s.take(50, 1, "OK", setPX("t1")...)
			s.evict(60)
			s.take(1100, 2, "OK", setPX("t2")...)
			s.give(1200, 1, "0", s.cad("t1")...)
			s.give(1300, 2, "1", s.cad("t2")...)
		}, []string{"exclusion: lease-outlived"}},
		{"of a hash too", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", enter(s, "owner-zero")...)
			s.give(40, 0, "1", leave(s, "owner-zero")...)
			s.take(50, 1, "1", enter(s, "owner-one")...)
			hash(s, 60, "owner-zero=1")
			s.take(1100, 2, "1", enter(s, "owner-two")...)
			s.give(1200, 1, "nil", leave(s, "owner-one")...)
			s.give(1300, 2, "1", leave(s, "owner-two")...)
		}, []string{"exclusion: lease-outlived"}},
		{"of a hash those fields alone that were in it", "rw-hash-owners", func(s *story) {
			field := func(at float64, client int, mode history.Mode, token string) {
				s.invoke(at-1, client, history.FAcquire, mode)
				s.cmd(at, client, "1", s.script("owners-enter", []string{"lock"}, string(mode), token, "1000")...)
				s.done(at+1, client, history.OK, history.Lease{Token: token, Deadline: ms(at + 999)})
			}
			field(10, 0, history.Read, "token-zero")
			field(50, 1, history.Read, "token-one")
			hash(s, 60, "token-zero=read:1009")
			field(100, 2, history.Write, "token-two")
		}, []string{"exclusion: race", "exclusion: server-lost-key"}},
		{"whatever was evicted, if nobody can tell", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", enter(s, "owner-zero")...)
			hash(s, 20, "whose=1")
			s.take(30, 1, "1", enter(s, "owner-one")...)
			s.give(40, 1, "1", leave(s, "owner-one")...)
			s.give(60, 0, "nil", leave(s, "owner-zero")...)
		}, []string{"exclusion: server-lost-key"}},
	})
}

func TestARestartMayLoseWhatRanAfterItWasRecorded(t *testing.T) {
	down := func(s *story, at float64) {
		s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n0"})
	}
	up := func(s *story, at float64) {
		s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: "n0", Error: "the last second"})
	}
	enter := func(s *story, o string) []string { return s.script("hash-enter", []string{"lock"}, o, "1") }
	leave := func(s *story, o string) []string { return s.script("hash-leave", []string{"lock"}, o) }
	tales(t, []tale{
		{"a grant on a connection of before", "reentrant-hash", func(s *story) {
			s.busy(10, 0, "nil", "GET", "other")
			down(s, 50)
			s.dying(func() { s.take(52, 0, "1", enter(s, "owner-zero")...) })
			up(s, 80)
			s.take(100, 1, "1", enter(s, "owner-one")...)
			s.give(200, 1, "1", leave(s, "owner-one")...)
			s.give(300, 0, "nil", leave(s, "owner-zero")...)
		}, []string{"exclusion: server-lost-key"}},
		{"a release on a connection of before", "set-nx-px", func(s *story) {
			s.take(10, 2, "OK", setPX("t2")...)
			down(s, 50)
			s.dying(func() { s.give(53, 2, "1", s.cad("t2")...) })
			up(s, 55)
			s.queue(60, 1000, 1, "nil", setPX("t1")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1200, 1, "1", s.cad("t1")...)
		}, []string{"liveness: orphaned-key"}},
		{"but nothing on a new connection", "exists-set", func(s *story) {
			s.take(2, 2, "OK", "SET", "lock", "1")
			s.give(4, 2, "1", "DEL", "lock")
			down(s, 50)
			s.take(60, 0, "OK", "SET", "lock", "1") // it serves before that is told
			up(s, 80)
			s.take(100, 1, "OK", "SET", "lock", "1")
			s.give(200, 0, "1", "DEL", "lock")
			s.give(300, 1, "0", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: foreign-delete"}},
	})
}
