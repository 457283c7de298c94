package checker

import (
	"strings"
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// In these tests the evidence lacks the replies to some commands. The changes of the keys show what
// these commands did.

// mute adds a command without an observed reply. If certain is set, the command certainly
// ran; otherwise it may have run.
func mute(s *story, at float64, client int, certain bool, args ...string) {
	c := s.cmd(at, client, "", args...)
	c.Replied = 0
	if !certain {
		c.Served = 0
	}
}

// tryUnanswered adds an acquire whose one command got no observed reply.
func tryUnanswered(s *story, at float64, client int, certain bool, args ...string) {
	s.invoke(at-1, client, history.FAcquire)
	mute(s, at, client, certain, args...)
	s.done(at+30, client, history.Info)
}

// giveUnanswered adds a release whose one command got no observed reply.
func giveUnanswered(s *story, at float64, client int, certain bool, args ...string) {
	s.invoke(at-1, client, history.FRelease)
	mute(s, at, client, certain, args...)
	s.done(at+30, client, history.Info)
}

// inBothCases runs each tale twice. Commands without an observed reply certainly ran in the
// first run; in the second they may have run.
func inBothCases(t *testing.T, recipe, name string, tale func(s *story, certain bool), want ...string) {
	t.Helper()
	for _, certain := range []bool{true, false} {
		said := map[bool]string{true: ", certainly", false: ", perhaps"}[certain]
		t.Run(strings.ReplaceAll(name+said, " ", "_"), func(t *testing.T) {
			judgement(t, recipe, func(s *story) { tale(s, certain) }, want...)
		})
	}
}

func TestWhoIsKeptOutByWhatNobodyHeardIsNotForgotten(t *testing.T) {
	set := func(s *story) []string { return s.script("setnx-then-expire", []string{"lock"}, "1", "1") }
	takenByScript := func(s *story, certain bool) {
		tryUnanswered(s, 10, 0, certain, set(s)...)
		s.queue(60, 900, 1, "nil", set(s)...)
		s.take(1100, 1, "1", set(s)...)
		s.give(1150, 1, "1", "DEL", "lock")
	}
	const orphaned = "liveness: orphaned-key"
	inBothCases(t, "lua-setnx-expire", "a script that took the lock", takenByScript, orphaned)
	inBothCases(t, "lua-setnx-expire", "a script where a key was", func(s *story, certain bool) {
		s.take(2, 2, "1", set(s)...)
		s.invoke(4, 2, history.FRelease)
		mute(s, 5, 2, certain, "DEL", "lock")
		s.done(6, 2, history.Info)
		takenByScript(s, certain)
	}, orphaned)
	inBothCases(t, "set-nx-px", "given back and taken", func(s *story, certain bool) {
		s.take(10, 0, "OK", setPX("t0")...)
		giveUnanswered(s, 50, 0, certain, s.cad("t0")...)
		tryUnanswered(s, 100, 1, certain, setPX("t1")...)
		s.queue(200, 900, 2, "nil", setPX("t2")...)
		s.hold(1110, 1150, 2, "t2")
	}, orphaned)
	inBothCases(t, "set-nx-px", "of a stranger's key", func(s *story, certain bool) {
		s.stranger(2, setPX("t9")...)
		s.busy(5, 2, "nil", setPX("t2")...)
		tryUnanswered(s, 10, 0, certain, setPX("t0")...)
		s.queue(60, 900, 1, "nil", setPX("t1")...)
		s.hold(1100, 1150, 1, "t1")
	})
	inBothCases(t, "set-nx-px", "nobody was kept out", func(s *story, certain bool) {
		tryUnanswered(s, 10, 0, certain, setPX("t0")...)
		s.hold(1100, 1150, 1, "t1")
	})
}

// c0's release and c1's acquire have unknown outcomes. If the answer to the release was NOSCRIPT,
// the release did nothing, so that c0's key keeps c2 out. Otherwise c1's key keeps c2 out.
func TestAScriptThatWasNotThereDidNothing(t *testing.T) {
	for reply, blamed := range map[string]string{"NOSCRIPT No matching script. Please use EVAL.": "c0's SET had set it", "": "c1's SET had set it"} {
		s := tell(t, "set-nx-px")
		s.take(110, 0, "OK", setPX("t0")...)
		s.invoke(149, 0, history.FRelease)
		s.unanswered(150, 0, reply, s.cad("t0")...)
		s.done(180, 0, history.Info)
		tryUnanswered(s, 200, 1, true, setPX("t1")...)
		s.queue(300, 1100, 2, "nil", setPX("t2")...)
		s.take(1220, 2, "OK", setPX("t2")...)
		v := liveness(t.Context(), NewCase(s.evidence()))
		if len(v.Findings) != 1 || !strings.Contains(plain.Summary(v.Findings[0]), blamed) {
			t.Errorf("after %q: got %+v, want one finding with %q", reply, v, blamed)
		}
	}
}

// c0 acquires a re-entrant lock twice and releases it once. The reply to the release is not
// observed.
func TestALeaveThatNobodyHeardWasNotTheLast(t *testing.T) {
	enter := func(s *story, client string) []string {
		return s.script("hash-enter", []string{"lock"}, "owner-number-"+client, "1")
	}
	leave := func(s *story, client string) []string {
		return s.script("hash-leave", []string{"lock"}, "owner-number-"+client)
	}
	left := func(s *story, certain bool) {
		s.take(10, 0, "1", enter(s, "0")...)
		s.take(20, 0, "1", enter(s, "0")...)
		giveUnanswered(s, 50, 0, certain, leave(s, "0")...)
	}
	next := func(s *story) {
		s.queue(100, 880, 1, "0", enter(s, "1")...)
		s.take(1100, 1, "1", enter(s, "1")...)
		s.give(1200, 1, "1", leave(s, "1")...)
	}
	inBothCases(t, "reentrant-hash", "and the lease is outlived", func(s *story, certain bool) {
		left(s, certain)
		next(s)
		s.give(1300, 0, "nil", leave(s, "0")...)
	}, "exclusion: lease-outlived")
	inBothCases(t, "reentrant-hash", "and its owner crashes", func(s *story, certain bool) {
		left(s, certain)
		s.nemesis(90, crash(0))
		next(s)
	}, "liveness: orphaned-key")
}

func TestWhatNobodyHeardDoesNotHideACause(t *testing.T) {
	plain := []string{"SET", "lock", "1", "EX", "1", "NX"}
	inBothCases(t, "set-nx-px", "a key lost in a restart", func(s *story, certain bool) {
		s.take(10, 0, "OK", setPX("t0")...)
		s.down(20)
		s.up(25, allKeys)
		tryUnanswered(s, 40, 1, certain, setPX("t1")...)
		s.hold(1100, 1150, 2, "t2")
		s.give(1300, 0, "0", s.cad("t0")...)
	}, "exclusion: server-lost-key")
	inBothCases(t, "set-nx-px", "a lease outlived", func(s *story, certain bool) {
		s.take(10, 0, "OK", setPX("t0")...)
		tryUnanswered(s, 1012, 1, certain, setPX("t1")...)
		s.hold(2100, 2150, 2, "t2")
		s.give(2200, 0, "0", s.cad("t0")...)
	}, "exclusion: lease-outlived")
	inBothCases(t, "set-nx-ex", "another's delete", func(s *story, certain bool) {
		s.take(10, 0, "OK", plain...)
		giveUnanswered(s, 50, 1, certain, "DEL", "lock")
		s.take(150, 2, "OK", plain...)
		s.give(200, 2, "1", "DEL", "lock")
		s.give(300, 0, "0", "DEL", "lock")
	}, "exclusion: foreign-delete", "ownership: foreign-delete")
}

// c1 tries to overwrite the key of c0's grant; the reply is unknown. Then c2 removes the key.
func TestWhatIsOverwrittenWithoutAReplyIsTheOverwritersDoing(t *testing.T) {
	const overwritten, removed, renewed = "ownership: race", "ownership: foreign-delete", "ownership: foreign-renewal"
	for command, want := range map[string][]string{
		"SET lock 2":        {overwritten},
		"SET lock 2 PX 500": {overwritten},
		"SETEX lock 1 2":    {overwritten},
		"GETSET lock 2":     {overwritten},
		"SET lock 2 XX":     {overwritten},
		"SET lock 2 NX":     {removed},
		"SET lock 2 EX 0":   {removed}, // an error for Redis
		"SET lock 1":        {removed}, // it changes nothing
		"SETEX lock 1 1":    {removed, renewed},
	} {
		inBothCases(t, "exists-set", command, func(s *story, certain bool) {
			s.take(10, 0, "OK", "SET", "lock", "1")
			tryUnanswered(s, 20, 1, certain, strings.Fields(command)...)
			s.give(60, 2, "1", "DEL", "lock")
			s.give(300, 0, "0", "DEL", "lock")
		}, want...)
	}
}

// c1 gives c0's key a TTL; the reply is not observed.
func TestALifeThatAKeyIsGivenWithoutAReplyIsSeen(t *testing.T) {
	for command, want := range map[string][]string{
		"PEXPIRE lock 2000":    {"ownership: foreign-renewal"},
		"PEXPIRE lock 2000 GT": {"ownership: foreign-renewal"},
		"PEXPIRE lock 100 GT":  nil,
		"PEXPIRE lock 2000 NX": nil,
	} {
		inBothCases(t, "set-nx-px", command, func(s *story, certain bool) {
			s.take(10, 0, "OK", setPX("t0")...)
			tryUnanswered(s, 500, 1, certain, strings.Fields(command)...)
			s.give(900, 0, "1", s.cad("t0")...)
		}, want...)
	}
}

// The history alone proves that two clients believed at once that they held the lock,
// whatever the keys contained.
func TestAnOverlapStaysAViolationWhateverWasHeard(t *testing.T) {
	for _, c := range []struct {
		name  string
		then  func(*story) // c1 is granted the lock at 80, while c0 holds it
		cause Cause
	}{
		{"a lock that takes no answer for a grant", func(s *story) {
			s.invoke(49, 1, history.FAcquire)
			mute(s, 50, 1, false, setPX("t1")...)
			s.done(80, 1, history.OK)
		}, Race},
		{"a lock that takes a refusal for a grant", func(s *story) {
			s.invoke(49, 1, history.FAcquire)
			s.unanswered(50, 1, "nil", setPX("t1")...)
			s.done(80, 1, history.OK)
		}, Race},
		{"a lock that asks nobody", func(s *story) {
			tryUnanswered(s, 30, 2, false, setPX("t2")...)
			s.invoke(79, 1, history.FAcquire)
			s.done(80, 1, history.OK)
		}, Unclassified},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := tell(t, "set-nx-px")
			s.take(10, 0, "OK", setPX("t0")...)
			c.then(s)
			s.give(300, 0, "1", s.cad("t0")...)
			s.give(400, 1, "0", s.cad("t1")...)
			v := OracleNamed("exclusion").Judge(t.Context(), s.evidence())
			if v.Result != Violated || len(v.Findings) != 1 || v.Findings[0].Cause != c.cause || len(v.Doubtful) > 0 {
				t.Errorf("got %s, %+v, in doubt %v; want one overlap because of %s", v.Result, v.Findings, doubts(v), c.cause)
			}
		})
	}
}
