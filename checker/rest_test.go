package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// restsFor returns a tale in which c0's release does not remove the key: the release gives the key
// a TTL of 500 ms. c0 crashes, and c1 waits until the key expires.
func restsFor(release ...string) func(*story) {
	return func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.give(40, 0, map[bool]string{true: "1", false: "OK"}[release[0] == "PEXPIRE"], release...)
		s.nemesis(50, crash(0))
		s.queue(60, 500, 1, "nil", setPX("t1")...)
		s.hold(600, 650, 1, "t1")
		s.healed(700)
	}
}

func TestWhatAReleaseLeavesIsNobodysOrphan(t *testing.T) {
	tales(t, []tale{
		{"a shorter life", "set-nx-px", restsFor("PEXPIRE", "lock", "500"), nil},
		{"another value with a shorter life", "set-nx-px", restsFor("SET", "lock", "free", "XX", "PX", "500"), nil},
		{"a key that is put back", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.invoke(39, 0, history.FRelease)
			s.cmd(40, 0, "1", "DEL", "lock")
			s.cmd(41, 0, "OK", "SET", "lock", "free", "NX", "PX", "500")
			s.done(42, 0, history.OK)
			s.queue(60, 500, 1, "nil", setPX("t1")...)
			s.hold(600, 650, 1, "t1")
		}, nil},
		{"an empty field", "set-nx-px", func(s *story) {
			s.take(10, 0, "1", "HSET", "lock", "owner", "t0")
			s.give(40, 0, "0", "HSET", "lock", "owner", "")
			s.nemesis(50, crash(0))
			s.take(60, 1, "0", "HSET", "lock", "owner", "t1")
			s.give(90, 1, "0", "HSET", "lock", "owner", "")
		}, nil},
		{"a count of nothing", "set-nx-px", func(s *story) {
			s.take(10, 0, "1", "INCR", "lock")
			s.give(40, 0, "0", "DECR", "lock")
			s.nemesis(50, crash(0))
			s.take(60, 1, "1", "INCR", "lock")
			s.give(90, 1, "0", "DECR", "lock")
		}, nil},
		{"a value without a life, which keeps others out", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.give(40, 0, "OK", "SET", "lock", "free", "XX")
			s.nemesis(50, crash(0))
			s.healed(55)
			s.queue(60, 3500, 1, "nil", setPX("t1")...)
			s.keys(3600)
		}, []string{"liveness: no-expiry for ever"}},
	})
}

func TestWhatOnlyLooksLeftOnPurposeIsAnOrphan(t *testing.T) {
	enter := func(s *story, o string) []string { return s.script("hash-enter", []string{"lock"}, o, "1") }
	tales(t, []tale{
		{"the release of an inner entry prolongs the key, and the owner crashes", "reentrant-hash", func(s *story) {
			s.take(10, 0, "1", enter(s, "owner-zero")...)
			s.take(20, 0, "1", enter(s, "owner-zero")...)
			s.invoke(29, 0, history.FRelease)
			s.cmd(30, 0, "1", "HINCRBY", "lock", "owner-zero", "-1")
			s.cmd(31, 0, "1", "PEXPIRE", "lock", "1000")
			s.done(32, 0, history.OK)
			s.nemesis(40, crash(0))
			s.queue(50, 1000, 1, "0", enter(s, "owner-one")...)
			s.take(1100, 1, "1", enter(s, "owner-one")...)
			s.give(1150, 1, "1", s.leave("owner-one")...)
		}, []string{"liveness: orphaned-key"}},
		{"the release of an entry that was counted twice", "reentrant-hash", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.late(9.5, 10, 0, "1", enter(s, "owner-zero")...).Replied = 0
			s.late(9.5, 11, 0, "1", enter(s, "owner-zero")...)
			s.done(12, 0, history.OK)
			s.give(30, 0, "0", s.leave("owner-zero")...)
			s.queue(50, 1000, 1, "0", enter(s, "owner-one")...)
			s.take(1100, 1, "1", enter(s, "owner-one")...)
			s.give(1150, 1, "1", s.leave("owner-one")...)
		}, []string{"liveness: orphaned-key"}},
		{"a watchdog that goes on after the release", "set-nx-px-watchdog", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.give(40, 0, "1", "PEXPIRE", "lock", "100")
			s.cmd(90, 0, "1", "PEXPIRE", "lock", "1000")
			s.queue(100, 1000, 1, "nil", setPX("t1")...)
			s.take(1200, 1, "OK", setPX("t1")...)
			s.give(1250, 1, "1", "DEL", "lock")
		}, []string{"liveness: foreign-renewal"}},
	})
}

// A lock such as setnx claims that nobody gets in after a crash: its leases never end. So a client
// that takes such a lock over robs its holder, however old the key is.
func TestNothingLapsesOfALockWithoutAnEnd(t *testing.T) {
	takeover := func(s *story) {
		s.take(10, 0, "OK", "SET", "lock", "t0")
		s.take(1500, 1, "OK", "SET", "lock", "t1")
		s.give(1600, 1, "1", "DEL", "lock")
		s.give(1650, 0, "0", "DEL", "lock")
	}
	tales(t, []tale{
		{"taken over as if its lease were over", "setnx", takeover, []string{"exclusion: race", "ownership: race"}},
		{"removed and taken", "setnx", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "t0")
			s.invoke(1499, 1, history.FAcquire)
			s.cmd(1500, 1, "1", "DEL", "lock")
			s.cmd(1501, 1, "OK", "SET", "lock", "t1")
			s.done(1502, 1, history.OK)
			s.give(1600, 1, "1", "DEL", "lock")
			s.give(1650, 0, "0", "DEL", "lock")
		}, []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"taken over when its lease is over", "setnx", func(s *story) {
			s.e.Claims.Recovery = s.e.Claims.TTL
			takeover(s)
		}, []string{"exclusion: lease-outlived"}},
		{"taken over, with leases of unknown length", "setnx", func(s *story) {
			s.e.Claims.TTL = 0
			takeover(s)
		}, []string{"exclusion: race", "ownership: unknown"}},
	})
}
