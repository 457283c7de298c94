package checker

import (
	"slices"
	"strings"
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

// giveUnheard is a release with one command whose reply nobody saw.
func giveUnheard(s *story, at float64, client int, certain bool, args ...string) {
	s.invoke(at-1, client, history.FRelease)
	mute(s, at, client, certain, args...)
	s.done(at+30, client, history.Info)
}

// restart kills the node and brings it back; what it kept nobody says.
func restart(s *story, at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n0"})
	s.nemesis(at+5, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: "n0", Lost: &history.Lost{Keys: true}})
}

// waiting: a client is kept out for most of a lease.
func waiting(s *story, since float64, client int, busy string, args ...string) {
	s.queue(since, 900, client, busy, args...)
}

func givenBackUnheard(sure bool) func(*story) {
	return func(s *story) {
		s.take(2, 0, "OK", setPX("t0")...)
		s.give(5, 0, "1", s.cad("t0")...)
		s.take(10, 0, "OK", setPX("t0")...)
		giveUnheard(s, 50, 0, sure, s.cad("t0")...)
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
		{"a release that had no script", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			giveUnheard(s, 50, 0, true, s.cad("t0")...)
			waiting(s, 100, 1, "nil", setPX("t1")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, []string{"liveness: orphaned-key"}},
		{"nobody was kept out", "set-nx-px", func(s *story) {
			tryUnheard(s, 10, 0, true, setPX("t0")...)
			s.take(1100, 1, "OK", setPX("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, nil},
	})
}

// c0 gives its lock back, c1 takes it, and nobody hears of either: who is kept out then
// is so by c1 only if c0's script ran.
func TestAScriptThatNobodyHeardRanOnlyWhereItWas(t *testing.T) {
	const source = "compare and delete"
	eval := func(s *story) []string { return slices.Concat([]string{"EVAL", source}, s.cad("t9")[2:]) }
	flush := func(s *story, from float64, to ...float64) {
		window := history.Op{Process: history.Nemesis, Client: history.NoClient, Type: history.Invoke, F: scriptFlush, Window: &history.Window{Fault: scriptFlush, ID: 1, Hits: 1}}
		s.entry(from, window)
		window.Type = history.Info
		for _, at := range to {
			s.entry(at, window)
		}
	}
	had := func(s *story) { s.give(10, 0, "0", s.cad("t9")...) }
	for _, c := range []struct {
		name   string
		before func(*story)
		ran    bool
	}{
		{"nobody ran it before", func(*story) {}, false},
		{"it was not there", func(s *story) { s.give(10, 0, "NOSCRIPT No matching script. Please use EVAL.", s.cad("t9")...) }, false},
		{"it had run", had, true},
		{"it had run, and was gone", func(s *story) {
			had(s)
			s.give(20, 0, "NOSCRIPT No matching script. Please use EVAL.", s.cad("t9")...)
		}, false},
		{"it may have run", func(s *story) { giveUnheard(s, 10, 0, true, s.cad("t9")...) }, false},
		{"it had been brought", func(s *story) { s.give(10, 0, "0", eval(s)...) }, true},
		{"it had been brought unheard", func(s *story) { giveUnheard(s, 10, 0, true, eval(s)...) }, true},
		{"it may have been brought", func(s *story) { giveUnheard(s, 10, 0, false, eval(s)...) }, false},
		{"it had been loaded", func(s *story) { s.give(10, 0, `"sha"`, "SCRIPT", "LOAD", source) }, true},
		{"it was flushed by a client", func(s *story) { had(s); s.give(20, 0, "OK", "SCRIPT", "FLUSH") }, false},
		{"it was flushed", func(s *story) { had(s); flush(s, 20, 22) }, false},
		{"it is being flushed", func(s *story) { flush(s, 5); had(s) }, false},
		{"it had been flushed before", func(s *story) { flush(s, 5, 7); had(s) }, true},
		{"its node was restarted", func(s *story) { had(s); restart(s, 20) }, false},
		{"its node is being restarted", func(s *story) {
			s.nemesis(5, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n0"})
			had(s)
		}, false},
		{"another node was restarted", func(s *story) {
			had(s)
			s.nemesis(20, history.Op{Client: history.NoClient, F: history.FNodeDown, Node: "n1"})
			s.nemesis(25, history.Op{Client: history.NoClient, F: history.FNodeUp, Node: "n1"})
		}, true},
		{"another was promoted", func(s *story) {
			had(s)
			s.nemesis(20, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n0", From: "n1"})
		}, false},
	} {
		want := map[bool]string{true: "liveness: orphaned-key", false: "liveness: unknown"}[c.ran]
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			judgement(t, "set-nx-px", func(s *story) {
				s.e.Claims.Scripts[0].SHA1 = digestOf("EVAL", source)
				c.before(s)
				s.take(110, 0, "OK", setPX("t0")...)
				giveUnheard(s, 150, 0, true, s.cad("t0")...)
				tryUnheard(s, 200, 1, true, setPX("t1")...)
				waiting(s, 300, 2, "nil", setPX("t2")...)
				s.take(1210, 2, "OK", setPX("t2")...)
				s.give(1250, 2, "1", s.cad("t2")...)
			}, want)
		})
	}
}

// c0 enters twice, and nobody hears of its leave, which certainly ran.
func TestALeaveThatNobodyHeardMayNotHaveBeenTheLast(t *testing.T) {
	left := func(after func(s *story, enter, leave func(client string) []string)) func(*story) {
		return func(s *story) {
			enter := func(client string) []string {
				return s.script(s.e.Claims.Scripts[0].Name, []string{"lock"}, "owner-number-"+client, "1")
			}
			leave := func(client string) []string {
				return s.script(s.e.Claims.Scripts[1].Name, []string{"lock"}, "owner-number-"+client)
			}
			s.take(2, 0, "1", enter("0")...)
			s.give(5, 0, "1", leave("0")...)
			for i := range 2 {
				s.take(float64(10*(i+1)), 0, "1", enter("0")...)
			}
			giveUnheard(s, 50, 0, true, leave("0")...)
			after(s, enter, leave)
		}
	}
	expires := func(s *story, enter, leave func(string) []string) {
		s.queue(100, 880, 1, "0", enter("1")...)
		s.take(1100, 1, "1", enter("1")...)
		s.give(1200, 1, "1", leave("1")...)
		s.give(1300, 0, "nil", leave("0")...)
	}
	crashes := func(s *story, enter, leave func(string) []string) {
		s.nemesis(90, crash(0))
		s.queue(100, 880, 1, "0", enter("1")...)
		s.take(1100, 1, "1", enter("1")...)
		s.give(1200, 1, "1", leave("1")...)
	}
	tales(t, []tale{
		{"an inner one, and the lease is outlived", "reentrant-hash", left(expires), []string{"exclusion: lease-outlived"}},
		{"an inner one, and its owner crashes", "reentrant-hash", left(crashes), []string{"liveness: orphaned-key"}},
		{"the only one", "reentrant-local", givenBackUnheard(true), []string{"liveness: orphaned-key"}},
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

// c1 sets what carries c0's claim, and nobody hears of it: c2 removes it then.
func TestWhatMayBeOverwrittenUnheardIsNobodysForCertain(t *testing.T) {
	overwritten := func(certain bool, args ...string) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1")
			tryUnheard(s, 20, 1, certain, args...)
			s.give(60, 2, "1", "DEL", "lock")
			s.give(300, 0, "0", "DEL", "lock")
		}
	}
	plain, found := []string{"SET", "lock", "1"}, []string{"ownership: foreign-delete"}
	tales(t, []tale{
		{"by SET", "exists-set", overwritten(true, plain...), nil},
		{"by SET with a life", "exists-set", overwritten(true, "SET", "lock", "1", "PX", "500"), nil},
		{"by SETEX", "exists-set", overwritten(true, "SETEX", "lock", "1", "1"), nil},
		{"by GETSET", "exists-set", overwritten(true, "GETSET", "lock", "1"), nil},
		{"perhaps by SET", "exists-set", overwritten(false, plain...), []string{"ownership: unknown"}},
		{"by SET if there is one", "exists-set", overwritten(true, "SET", "lock", "1", "XX"), nil},
		{"perhaps by SET if there is one", "exists-set", overwritten(false, "SET", "lock", "1", "XX"), []string{"ownership: unknown"}},
		{"not by SET if there is none", "exists-set", overwritten(true, "SET", "lock", "1", "NX"), found},
		{"perhaps by SET for no time", "exists-set", overwritten(true, "SET", "lock", "1", "EX", "0"), []string{"ownership: unknown"}},
	})
}

// c1 gives c0's key a life, and nobody hears of it.
func TestALifeThatAKeyIsGivenUnheard(t *testing.T) {
	prolonged := func(at float64, certain bool, args ...string) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			tryUnheard(s, at, 1, certain, args...)
			s.give(at+400, 0, "1", s.cad("t0")...)
		}
	}
	expire := []string{"PEXPIRE", "lock", "2000"}
	tales(t, []tale{
		{"certainly", "set-nx-px", prolonged(500, true, expire...), []string{"ownership: foreign-renewal"}},
		{"perhaps", "set-nx-px", prolonged(500, false, expire...), []string{"ownership: unknown"}},
		{"on a condition", "set-nx-px", prolonged(500, true, append(expire, "GT")...), []string{"ownership: unknown"}},
		{"none, on a condition", "set-nx-px", prolonged(500, true, "PEXPIRE", "lock", "0", "GT"), []string{"ownership: unknown"}},
		{"as it is due to expire", "set-nx-px", prolonged(1010, true, expire...), []string{"ownership: unknown"}},
	})
}

// That two believed at once, the history proves; the cause alone may want a reply.
func TestAnOverlapStaysAViolationWhateverWasHeard(t *testing.T) {
	for _, c := range []struct {
		name   string
		then   func(*story) // c1 is granted the lock at 80, beside c0
		wanted bool         // a reply
	}{
		{"a lock that takes no answer for a grant", func(s *story) {
			s.invoke(49, 1, history.FAcquire)
			mute(s, 50, 1, false, setPX("t1")...)
			s.done(80, 1, history.OK)
		}, true},
		{"whose command certainly did nothing", func(s *story) {
			s.invoke(49, 1, history.FAcquire)
			mute(s, 50, 1, true, setPX("t1")...)
			s.done(80, 1, history.OK)
		}, false},
		{"whose command was answered", func(s *story) {
			s.invoke(49, 1, history.FAcquire)
			s.unanswered(50, 1, "nil", setPX("t1")...)
			s.done(80, 1, history.OK)
		}, false},
		{"beside an earlier command of a third", func(s *story) {
			tryUnheard(s, 30, 2, false, setPX("t2")...)
			s.invoke(79, 1, history.FAcquire)
			s.done(80, 1, history.OK)
		}, true},
		{"before a later command of a third", func(s *story) {
			s.invoke(79, 1, history.FAcquire)
			s.done(80, 1, history.OK)
			tryUnheard(s, 100, 2, false, setPX("t2")...)
		}, false},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := tell(t, "set-nx-px")
			s.take(10, 0, "OK", setPX("t0")...)
			c.then(s)
			s.give(300, 0, "1", s.cad("t0")...)
			s.give(400, 1, "0", s.cad("t1")...)
			v := Oracles()[0].Judge(t.Context(), s.evidence())
			if v.Result != Violated || len(v.Findings) != 1 || v.Findings[0].Cause != Unclassified || len(v.Doubtful) > 0 {
				t.Errorf("got %s, %+v, in doubt %v; want one overlap without a cause", v.Result, v.Findings, doubts(v))
			}
			if got := strings.HasPrefix(v.Why, "nobody saw what n0 replied"); got != c.wanted {
				t.Errorf("says %q; that it wants a reply: %t, want %t", v.Why, got, c.wanted)
			}
		})
	}
}
