package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// handOver adds a lock that is handed over: c1's attempt is refused, and then c0's release sets the
// key to c1's token.
func handOver(s *story) {
	s.take(10, 0, "OK", setPX("t0")...)
	s.busy(20, 1, "nil", setPX("t1")...)
	s.give(40, 0, "OK", "SET", "lock", "t1", "PX", "1000")
	s.busy(50, 2, "nil", setPX("t2")...)
}

// A release may hand the lock to a waiting client. From then on the key is that client's grant,
// even before the client asks again.
func TestALockIsHandedToTheNextOne(t *testing.T) {
	tales(t, []tale{
		{"who comes for it", "set-nx-px", func(s *story) {
			handOver(s)
			s.take(60, 1, "OK", "SET", "lock", "t1", "XX", "PX", "1000")
			s.give(80, 1, "1", s.cad("t1")...)
			s.hold(90, 100, 2, "t2")
		}, nil},
		{"who died before", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.busy(20, 1, "nil", setPX("t1")...)
			s.nemesis(30, crash(1))
			s.give(40, 0, "OK", "SET", "lock", "t1", "PX", "1000")
			s.busy(50, 2, "nil", setPX("t2")...)
			s.hold(1100, 1150, 2, "t2")
		}, []string{"liveness: orphaned-key"}},
		{"a release that is late hands on the lock of another", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.busy(20, 1, "nil", setPX("t1")...)
			s.take(1100, 2, "OK", setPX("t2")...)
			s.give(1150, 0, "OK", "SET", "lock", "t1", "PX", "1000")
			s.take(1160, 1, "OK", "SET", "lock", "t1", "XX", "PX", "1000")
			s.give(1200, 1, "1", s.cad("t1")...)
			s.give(1300, 2, "0", s.cad("t2")...)
		}, []string{"exclusion: foreign-delete", "exclusion: lease-outlived", "ownership: foreign-delete"}},
	})
}

// tries adds an attempt in a mode. Each command is given as its reply and its arguments, such as
// "1", "EXISTS", "readers".
func (s *story) tries(at float64, client int, mode history.Mode, how history.Type, commands ...[]string) {
	s.invoke(at-1, client, history.FAcquire, mode)
	for i, c := range commands {
		s.cmd(at+float64(i), client, c[0], c[1:]...)
	}
	s.done(at+float64(len(commands)), client, how)
}

// The entry of a waiting client in a queue is no orphan while this client lives and keeps asking.
func TestAnEntryOfAWaitingClientIsItsOwn(t *testing.T) {
	tales(t, []tale{
		{"a writer that waits keeps readers out", "set-nx-px", func(s *story) {
			s.e.Claims.ReadWrite = true
			s.tries(10, 0, history.Read, history.OK, []string{"nil", "GET", "waiting"}, []string{"1", "HSET", "readers", "t0", "1"})
			s.tries(20, 1, history.Write, history.Fail, []string{"1", "EXISTS", "readers"}, []string{"OK", "SET", "waiting", "t1", "PX", "1000"})
			s.give(30, 0, "1", "HDEL", "readers", "t0")
			s.tries(40, 2, history.Read, history.Fail, []string{quoted("t1"), "GET", "waiting"})
			s.tries(50, 1, history.Write, history.OK, []string{"0", "EXISTS", "readers"}, append([]string{"OK"}, setPX("t1")...), []string{"1", "DEL", "waiting"})
			s.give(60, 1, "1", s.cad("t1")...)
			s.tries(70, 2, history.Read, history.OK, []string{"nil", "GET", "waiting"}, []string{"1", "HSET", "readers", "t2", "1"})
			s.give(80, 2, "1", "HDEL", "readers", "t2")
		}, nil},
		{"a writer that died while it waited", "set-nx-px", func(s *story) {
			s.e.Claims.ReadWrite = true
			s.tries(10, 0, history.Read, history.OK, []string{"nil", "GET", "waiting"}, []string{"1", "HSET", "readers", "t0", "1"})
			s.tries(20, 1, history.Write, history.Fail, []string{"1", "EXISTS", "readers"}, []string{"OK", "SET", "waiting", "t1", "PX", "1000"})
			s.nemesis(25, crash(1))
			s.give(30, 0, "1", "HDEL", "readers", "t0")
			s.tries(40, 2, history.Read, history.Fail, []string{quoted("t1"), "GET", "waiting"})
			s.tries(1100, 2, history.Read, history.OK, []string{"nil", "GET", "waiting"}, []string{"1", "HSET", "readers", "t2", "1"})
			s.give(1150, 2, "1", "HDEL", "readers", "t2")
		}, []string{"liveness: orphaned-key"}},
		{"what an attempt left by which its own client is refused", "set-nx-px", func(s *story) {
			s.tries(10, 0, "", history.OK, []string{"OK", "SET", "lock", "t0", "NX", "PX", "1000"})
			s.invoke(20, 1, history.FAcquire)
			s.late(20, 90, 1, "nil", setPX("t1")...)
			s.cmd(91, 1, "OK", "SET", "mark", "t1", "PX", "1000")
			s.done(93, 1, history.Fail)
			s.give(100, 0, "1", s.cad("t0")...)
			s.tries(110, 1, "", history.Fail, []string{quoted("t1"), "GET", "mark"})
			s.tries(120, 2, "", history.Fail, []string{quoted("t1"), "GET", "mark"})
			s.tries(1100, 2, "", history.OK, []string{"nil", "GET", "mark"}, []string{"OK", "SET", "lock", "t2", "NX", "PX", "1000"})
			s.give(1150, 2, "1", s.cad("t2")...)
		}, []string{"liveness: orphaned-key"}},
	})
}
