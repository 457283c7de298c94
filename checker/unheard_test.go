package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// mute is a command that ran, or if not certain may have, and whose reply nobody saw.
func mute(s *story, at float64, client int, certain bool, args ...string) {
	c := s.cmd(at, client, "", args...)
	c.Replied = 0
	if !certain {
		c.Served = 0
	}
}

// tryUnheard is an acquire with one command whose reply nobody saw.
func tryUnheard(s *story, at float64, client int, certain bool, args ...string) {
	s.invoke(at-1, client, history.FAcquire)
	mute(s, at, client, certain, args...)
	s.done(at+30, client, history.Info)
}

// restart kills the node and brings it back; what it kept nobody says.
func restart(s *story, at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n0"})
	s.nemesis(at+5, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: "n0", Error: "all keys"})
}

// waiting: a client is kept out for most of a lease.
func waiting(s *story, since float64, client int, busy string, args ...string) {
	s.queue(since, 900, client, busy, args...)
}

func givenBackUnheard(sure bool) func(*story) {
	return func(s *story) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.invoke(49, 0, history.FRelease)
		mute(s, 50, 0, sure, s.cad("t0")...)
		s.done(80, 0, history.Info)
		tryUnheard(s, 100, 1, sure, setPX("t1")...)
		waiting(s, 200, 2, "nil", setPX("t2")...)
		s.take(1110, 2, "OK", setPX("t2")...)
		s.give(1150, 2, "1", s.cad("t2")...)
	}
}

func TestWhoIsKeptOutByWhatNobodyHeardIsNotForgotten(t *testing.T) {
	script := func(certain bool) func(*story) {
		return func(s *story) {
			set := s.script("setnx-then-expire", []string{"lock"}, "1", "1")
			tryUnheard(s, 10, 0, certain, set...)
			waiting(s, 60, 1, "nil", set...)
			s.take(1100, 1, "1", set...)
			s.give(1150, 1, "1", "DEL", "lock")
		}
	}
	tales(t, []tale{
		{"a script that took the lock", "lua-setnx-expire", script(true), []string{"liveness: orphaned-key"}},
		{"a script that may have taken it", "lua-setnx-expire", script(false), []string{"liveness: orphaned-key"}},
		{"a script where a key may have been", "lua-setnx-expire", func(s *story) {
			s.take(2, 2, "1", s.script("setnx-then-expire", []string{"lock"}, "1", "1")...)
			s.invoke(4, 2, history.FRelease)
			mute(s, 5, 2, false, "DEL", "lock")
			s.done(6, 2, history.Info)
			script(true)(s)
		}, []string{"liveness: unknown"}},
		{"given back and taken", "set-nx-px", givenBackUnheard(true), []string{"liveness: orphaned-key"}},
		{"perhaps given back, perhaps taken", "set-nx-px", givenBackUnheard(false), []string{"liveness: unknown"}},
		{"taken, perhaps", "set-nx-px", func(s *story) {
			tryUnheard(s, 10, 0, false, setPX("t0")...)
			waiting(s, 60, 1, "nil", setPX("t1")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, []string{"liveness: orphaned-key"}},
		{"of a key that was there unseen", "set-nx-px", func(s *story) {
			s.busy(5, 2, "nil", setPX("t2")...)
			tryUnheard(s, 10, 0, true, setPX("t0")...)
			waiting(s, 60, 1, "nil", setPX("t1")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, []string{"liveness: unknown"}},
		{"nobody was kept out", "set-nx-px", func(s *story) {
			tryUnheard(s, 10, 0, true, setPX("t0")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, nil},
	})
}

func TestWhatNobodyHeardDoesNotHideACause(t *testing.T) {
	plain := []string{"SET", "lock", "1", "EX", "1", "NX"}
	lost := func(certain bool) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			restart(s, 20)
			tryUnheard(s, 40, 1, certain, setPX("t1")...)
			s.take(200, 2, "OK", setPX("t2")...)
			s.give(250, 2, "1", s.cad("t2")...)
			s.give(300, 0, "0", s.cad("t0")...)
		}
	}
	outlived := func(certain bool) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			tryUnheard(s, 1010.5, 1, certain, setPX("t1")...)
			s.take(2100, 2, "OK", setPX("t2")...)
			s.give(2150, 2, "1", s.cad("t2")...)
			s.give(2200, 0, "0", s.cad("t0")...)
		}
	}
	deleted := func(certain bool) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", plain...)
			s.invoke(40, 1, history.FRelease)
			mute(s, 50, 1, certain, "DEL", "lock")
			s.done(60, 1, history.Info)
			s.take(150, 2, "OK", plain...)
			s.give(200, 2, "1", "DEL", "lock")
			s.give(300, 0, "0", "DEL", "lock")
		}
	}
	tales(t, []tale{
		{"a key lost in a restart", "set-nx-px", lost(true), []string{"exclusion: server-lost-key"}},
		{"a key lost in a restart, a set that may have run", "set-nx-px", lost(false), []string{"exclusion: server-lost-key"}},
		{"a lease outlived", "set-nx-px", outlived(true), []string{"exclusion: lease-outlived"}},
		{"a lease outlived, a set that may have run", "set-nx-px", outlived(false), []string{"exclusion: lease-outlived"}},
		{"another's delete", "set-nx-ex", deleted(true), []string{"exclusion: foreign-delete", "ownership: foreign-delete"}},
		{"another's delete that may have run", "set-nx-ex", deleted(false), []string{"exclusion: foreign-delete", "ownership: unknown"}},
	})
}
