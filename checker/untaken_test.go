package checker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// evalsha returns an EVALSHA command whose script the node does not have.
func evalsha() []string {
	return []string{"EVALSHA", strings.Repeat("0", 40), "1", "lock", "t1"}
}

const forgotten = "NOSCRIPT No matching script. Please use EVAL."

// If a lock is free and a living client never gets it, only the lock itself can keep the
// client out.
func TestAFreeLockThatNobodyTakesIsViolated(t *testing.T) {
	tales(t, []tale{
		{"Redis has forgotten the script", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
			s.keys(3100)
		}, []string{"liveness: left-free for ever"}},
		{"a waiter that nobody wakes sends nothing", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			s.invoke(10, 1, history.FAcquire)
			s.done(3000, 1, history.Info)
			s.keys(3100)
		}, []string{"liveness: left-free for ever"}},
		{"a waiter was told to wait for a life by a wrong clock", "set-nx-px", func(s *story) {
			s.take(2, 0, "OK", setPX("t0")...)
			s.nodeClock(5, "n0", -60000)
			s.invoke(6, 1, history.FAcquire)
			s.cmd(7, 1, "60995", "PTTL", "lock")
			s.give(20, 0, "1", s.cad("t0")...)
			s.healed(30)
			s.done(3000, 1, history.Info)
			s.keys(3100)
		}, []string{"liveness: left-free"}},
		{"a waiter was told to wait for a life in seconds", "set-nx-px", func(s *story) {
			s.take(2, 0, "OK", setPX("t0")...)
			s.nodeClock(5, "n0", -60000)
			s.invoke(6, 1, history.FAcquire)
			s.cmd(7, 1, "61", "TTL", "lock")
			s.give(20, 0, "1", s.cad("t0")...)
			s.healed(30)
			s.done(3000, 1, history.Info)
			s.keys(3100)
		}, []string{"liveness: left-free"}},
		{"a script answered with a number of seconds, which may be anything", "set-nx-px", func(s *story) {
			s.take(2, 0, "OK", setPX("t0")...)
			s.nodeClock(5, "n0", -60000)
			s.invoke(6, 1, history.FAcquire)
			s.cmd(7, 1, "61", "EVAL", "return 61", "1", "lock")
			s.give(20, 0, "1", s.cad("t0")...)
			s.healed(30)
			s.done(3000, 1, history.Info)
			s.keys(3100)
		}, []string{"liveness: left-free for ever"}},
		{"a waiter got a number that is no remaining life", "set-nx-px", func(s *story) {
			s.take(2, 0, "OK", setPX("t0")...)
			s.invoke(6, 1, history.FAcquire)
			s.cmd(7, 1, "1700000000", "EVAL", "return 1700000000", "1", "lock")
			s.give(20, 0, "1", s.cad("t0")...)
			s.healed(30)
			s.done(3000, 1, history.Info)
			s.keys(3100)
		}, []string{"liveness: left-free for ever"}},
		{"an orphan first, then nothing for long enough", "set-nx-px", func(s *story) {
			s.hold(1, 3, 0, "t0")
			s.stranger(5, setPX("t0")...)
			s.healed(6)
			for at := 10.0; at < 5000; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
			s.keys(5100)
		}, []string{"liveness: left-free for ever"}},
		{"it was not free for long enough", "set-nx-px", func(s *story) {
			s.healed(5)
			s.take(10, 0, "OK", setPX("t0")...)
			for at := 20.0; at < 2500; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
			s.give(2600, 0, "0", s.cad("t0")...)
			s.busy(2700, 1, forgotten, evalsha()...)
			s.busy(2800, 1, forgotten, evalsha()...)
			s.busy(2900, 1, forgotten, evalsha()...)
			s.keys(3000)
		}, []string{"liveness: unknown"}},
		{"a command got no answer", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			s.invoke(10, 1, history.FAcquire)
			s.lost(20, 1, setPX("t1")...)
			s.done(3000, 1, history.Info)
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"the testbed does not know the command", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, "ERR unknown command 'LOCKUP', with args beginning with: 'a' ", "LOCKUP", "a")
			}
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"not all keys were seen", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			s.nemesis(6, history.Op{F: history.FUnseen, Node: "n0", Error: "the node refused the snapshot"})
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
			s.keys(3100)
		}, []string{"liveness: unknown", "ownership: unknown"}},
	})
}

func TestAFreeLockThatNobodyTakesIsToldWithItsReason(t *testing.T) {
	for want, attempts := range map[string]func(*story){
		"c1 never got into lock from 0.009s on, though it was free for all of 2.902s, without a holder and without a key on any node: they sent 30 commands to take it, and n0 answered c1's last, script at 2.909800s, that it does not have the script: \"NOSCRIPT No matching script. Please use EVAL.\"": func(s *story) {
			for at := 10.0; at < 3000; at += 100 {
				s.busy(at, 1, forgotten, evalsha()...)
			}
		},
		"c1 never got into lock from 0.010s on, though it was free for all of 2.99s, without a holder and without a key on any node: they sent no command to take it in all that time": func(s *story) {
			s.invoke(10, 1, history.FAcquire)
			s.done(3000, 1, history.Info)
		},
	} {
		s := tell(t, "set-nx-px")
		s.hold(2, 4, 0, "t0")
		s.healed(5)
		attempts(s)
		s.keys(3100)
		v := liveness(t.Context(), NewCase(s.evidence()))
		if len(v.Findings) != 1 {
			t.Fatalf("got %+v, want one finding", v)
		}
		if got := plain.Summary(v.Findings[0]); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestALockWhoseKeysWereNotWatchedIsNotCalledFree(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.hold(2, 4, 0, "t0")
	s.healed(5)
	for at := 10.0; at < 3000; at += 100 {
		s.busy(at, 1, forgotten, evalsha()...)
	}
	s.keys(3100)
	e := s.evidence()
	e.Watched, e.Keys = false, nil
	if v := liveness(t.Context(), NewCase(e)); v.Result != Unknown {
		t.Errorf("got %+v, want unknown", v)
	}
}

// Others take the lock in turn while a client is refused without a command. It was left free for that client: starved are
// only clients that asked.
func TestAClientThatNeverAsksDoesNotStarve(t *testing.T) {
	beside := func(ask func(s *story, at float64, held bool)) func(*story) {
		return func(s *story) {
			s.healed(5)
			for at := 10.0; at < 6000; at += 100 {
				held := int(at-10)%500 == 0
				if held {
					s.take(at+30, 0, "OK", setPX(fmt.Sprint("t", at))...)
				}
				ask(s, at+50, held)
				if held {
					s.give(at+80, 0, "1", s.cad(fmt.Sprint("t", at))...)
				}
			}
			s.keys(6100)
		}
	}
	tales(t, []tale{
		{"it never asks", "set-nx-px", beside(func(s *story, at float64, _ bool) {
			s.invoke(at, 1, history.FAcquire)
			s.done(at+1, 1, history.Fail)
		}), []string{"liveness: left-free"}},
		{"its question of before is not answered", "set-nx-px", func(s *story) {
			s.invoke(2, 1, history.FAcquire)
			s.lost(3, 1, setPX("t")...)
			beside(func(*story, float64, bool) {})(s)
		}, []string{"liveness: starved"}},
		{"it asks", "set-nx-px", beside(func(s *story, at float64, held bool) {
			if held {
				s.busy(at, 1, "nil", setPX("t")...)
			}
		}), []string{"liveness: starved"}},
	})
}
