package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// twoInOneValue adds two holds of a semaphore that lists its holders in one string, such as
// "t0,t1".
func twoInOneValue(s *story) {
	s.take(10, 0, "OK", "SET", "lock", "t0", "PX", "1000")
	s.take(20, 1, "OK", "SET", "lock", "t0,t1", "PX", "1000")
	s.give(40, 0, "OK", "SET", "lock", "t1", "PX", "1000")
	s.give(50, 1, "1", "DEL", "lock")
}

// takenFrom adds two holds of a pool of two tokens, a list. If record is set, another key lists who
// has a token.
func takenFrom(s *story, record bool) {
	s.cmd(5, 1, "2", "RPUSH", "tokens", "a", "b")
	for i, token := range []string{"a", "b"} {
		at := 10 + 10*float64(i)
		s.invoke(at-1, i, history.FAcquire)
		s.cmd(at, i, quoted(token), "LPOP", "tokens")
		if record {
			s.cmd(at+1, i, "1", "HSET", "since", []string{"c0", "c1"}[i], millisOf(at))
		}
		s.done(at+2, i, history.OK)
	}
	s.give(100, 0, "1", "RPUSH", "tokens", "a")
	s.give(110, 1, "2", "RPUSH", "tokens", "b")
}

// heldByTwo returns the tale with a changed claim: two clients may hold the lock at once.
func heldByTwo(tale func(*story)) func(*story) {
	return func(s *story) {
		s.e.Claims.Permits = 2
		tale(s)
	}
}

func TestWhatCannotBeToldApartIsUnknown(t *testing.T) {
	unknown := []string{"ownership: unknown"}
	tales(t, []tale{
		{"two holders in one string", "set-nx-px", heldByTwo(twoInOneValue), unknown},
		{"two holders in one string where one is allowed", "set-nx-px", twoInOneValue, []string{"exclusion: unclassified", "ownership: unknown"}},
		{"two holders in one JSON document", "set-nx-px", heldByTwo(func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", `[{"owner":"t0","until":1010}]`)
			s.take(20, 1, "OK", "SET", "lock", `[{"owner":"t0","until":1010},{"owner":"t1","until":1020}]`)
			s.cmd(30, 0, "OK", "SET", "lock", `[{"owner":"t0","until":1030},{"owner":"t1","until":1020}]`)
			s.give(40, 1, "1", "DEL", "lock")
			s.give(50, 0, "0", "DEL", "lock")
		}), unknown},
		{"two holders in the bits of one string", "set-nx-px", heldByTwo(func(s *story) {
			s.take(10, 0, "0", "SETBIT", "lock", "0", "1")
			s.take(20, 1, "0", "SETBIT", "lock", "1", "1")
			s.give(40, 0, "1", "SETBIT", "lock", "0", "0")
			s.give(50, 1, "1", "SETBIT", "lock", "1", "0")
		}), unknown},
		{"two holders in a field", "set-nx-px", heldByTwo(func(s *story) {
			s.take(10, 0, "1", "HSET", "lock", "owners", "t0")
			s.take(20, 1, "0", "HSET", "lock", "owners", "t0 t1")
			s.give(40, 0, "0", "HSET", "lock", "owners", "t1")
			s.give(50, 1, "1", "DEL", "lock")
		}), unknown},
		{"a token that is taken out of a list", "set-nx-px", heldByTwo(func(s *story) { takenFrom(s, false) }), unknown},
		{"a token that is taken out, with a record beside", "set-nx-px", heldByTwo(func(s *story) { takenFrom(s, true) }), unknown},
		{"tokens that the first acquire put there", "set-nx-px", heldByTwo(func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(9.5, 0, "2", "SADD", "tokens", "a", "b")
			s.cmd(10, 0, "1", "SREM", "tokens", "a")
			s.done(12, 0, history.OK)
			s.take(20, 1, "1", "SREM", "tokens", "b")
			s.give(100, 0, "1", "SADD", "tokens", "a")
			s.give(110, 1, "1", "SADD", "tokens", "b")
		}), unknown},
	})
}

func TestWhatCanBeToldApartIsJudged(t *testing.T) {
	tales(t, []tale{
		{"a count of what is free, put there by the first acquire", "set-nx-px", heldByTwo(func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(9.5, 0, "OK", "SET", "free", "2")
			s.cmd(10, 0, "1", "DECR", "free")
			s.done(12, 0, history.OK)
			s.take(20, 1, "0", "DECR", "free")
			s.give(100, 0, "1", "INCR", "free")
			s.give(110, 1, "2", "INCR", "free")
		}), nil},
		{"a value over another's", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.busy(20, 1, "OK", "SET", "lock", "t1", "XX", "PX", "1000")
			s.give(30, 0, "0", s.cad("t0")...)
			s.cmd(40, 1, "1", "DEL", "lock")
		}, []string{"ownership: race"}},
		{"a time in binary over another's, which has its bits", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "\x00\x01\x81")
			s.take(20, 1, "OK", "SET", "lock", "\x00\x01\x83")
			s.give(40, 0, "1", "DEL", "lock")
		}, []string{"exclusion: race", "ownership: foreign-delete", "ownership: race"}},
		{"a list of one owner", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "[t0]")
			s.give(20, 0, "OK", "SET", "lock", "[]")
			s.take(30, 1, "OK", "SET", "lock", "[t1]")
			s.give(40, 1, "OK", "SET", "lock", "[]")
		}, nil},
		{"tokens that are moved to where they are seen", "set-nx-px", func(s *story) {
			s.e.Claims.Permits = 2
			s.cmd(5, 1, "2", "SADD", "free", "a", "b")
			s.take(10, 0, "1", "SMOVE", "free", "taken", "a")
			s.take(20, 1, "1", "SMOVE", "free", "taken", "b")
			s.give(30, 0, "1", "SMOVE", "taken", "free", "b")
			s.give(40, 1, "0", "SMOVE", "taken", "free", "b")
		}, []string{"ownership: foreign-delete"}},
		{"a signal that wakes who waits", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(14, 1, history.FAcquire)
			s.cmd(15, 1, "nil", setPX("t1")...)
			s.invoke(19, 0, history.FRelease)
			s.cmd(20, 0, "1", s.cad("t0")...)
			s.cmd(21, 0, "1", "RPUSH", "signal", "go")
			s.done(22, 0, history.OK)
			s.cmd(23, 1, quoted("go"), "LPOP", "signal")
			s.cmd(24, 1, "OK", setPX("t1")...)
			s.done(25, 1, history.OK)
			s.give(30, 1, "1", s.cad("t1")...)
		}, nil},
		{"a queue that one leaves when one is let in", "set-nx-px", func(s *story) {
			for i, token := range []string{"t0", "t1"} {
				at := 10 + 20*float64(i)
				s.invoke(at-1, i, history.FAcquire)
				s.cmd(at, i, "1", "RPUSH", "queue", token)
				s.cmd(at+1, i, quoted(token), "LPOP", "queue")
				s.cmd(at+2, i, "OK", setPX(token)...)
				s.done(at+3, i, history.OK)
				s.give(at+10, i, "1", s.cad(token)...)
			}
		}, nil},
	})
}
