package checker

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestOurOwnStallsMakeViolationsUnknown(t *testing.T) {
	overlap := `
		c0 acquire 1-2 ok
		c0 read 2-2 ok seq=1 value=0
		c1 acquire 9-10 ok
		c1 write 11-11 ok seq=2 value=7
		c0 write 12-12 ok seq=3 value=1
		c0 release 30-31 ok
		c1 release 40-41 ok
		`
	for _, c := range []struct {
		name                string
		stall               string
		exclusion, resource Result
	}{
		{"none", ``, Violated, Violated},
		{"shorter than the overlap", `nemesis stall 50 offset=19`, Violated, Violated},
		{"longer than the overlap", `nemesis stall 50 offset=21`, Unknown, Violated},
		{"longer than a tenth of the lease time", `nemesis stall 200 offset=101`, Unknown, Unknown},
		{"such a stall under a nemesis pause, which pauses others", `
			nemesis window client-pause 90-150
			nemesis stall 200 offset=101`, Unknown, Unknown},
	} {
		e := history.Evidence{Ops: histories.Timeline(t, overlap+c.stall), Claims: history.Claims{TTL: time.Second}}
		for _, o := range oracles()[:2] {
			want := map[string]Result{"exclusion": c.exclusion, "resource": c.resource}[o.Name]
			v, err := o.ask(context.Background(), NewCase(e))
			if err != nil || v.Result != want || (v.Result == Unknown && v.Why == "") {
				t.Errorf("%s: %s is %s (%s), %v; want %s", c.name, o.Name, v.Result, v.Why, err, want)
			}
		}
	}
}

// A lock that gives up a command sooner than after a tenth of its lease is disturbed by shorter stalls:
// the key that the command set stays behind.
func TestAStallBeyondTheShortestTimeoutMakesViolationsUnknown(t *testing.T) {
	for _, c := range []struct {
		name           string
		timeout, stall time.Duration
		want           Result
		why            string
	}{
		{"shorter than the timeout", 50 * time.Millisecond, 40 * time.Millisecond, Violated, ""},
		{"longer than the timeout", 50 * time.Millisecond, 120 * time.Millisecond, Unknown, "longer than the 50ms that"},
		{"no timeout is claimed", 0, 120 * time.Millisecond, Violated, ""},
		{"a timeout of more than a tenth of the lease", time.Second, 120 * time.Millisecond, Violated, ""},
		{"a stall of more than that tenth", time.Second, 201 * time.Millisecond, Unknown, "more than a tenth of the lease"},
	} {
		s := tell(t, "set-nx-px")
		s.e.Claims.TTL, s.e.Claims.Recovery, s.e.Claims.Timeout = 2*time.Second, 2*time.Second, c.timeout
		lease := func(token string) []string { return []string{"SET", "lock", token, "NX", "PX", "2000"} }
		s.invoke(9, 0, history.FAcquire)
		s.unanswered(10, 0, "OK", lease("t0")...)
		s.done(130, 0, history.Info)
		s.queue(140, 2000, 1, "nil", lease("t1")...)
		s.take(2100, 1, "OK", lease("t1")...)
		s.give(2150, 1, "1", s.cad("t1")...)
		s.nemesis(2200, history.Op{Client: history.NoClient, F: history.FStall, Offset: c.stall})
		e := s.evidence()
		v := OracleNamed("liveness").Judge(t.Context(), e)
		if _, spoilt := Stalled(e); v.Result != c.want || spoilt != (c.want == Unknown) || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %s (%s), spoilt %v; want %s", c.name, v.Result, v.Why, spoilt, c.want)
		}
		found := doubts(v)
		for _, f := range v.Findings {
			found = append(found, f.Cause)
		}
		if !slices.Equal(found, []Cause{OrphanedKey}) {
			t.Errorf("%s: found %v, want %s", c.name, found, OrphanedKey)
		}
	}
}

func TestALongerOverlapStandsBesideShortOnes(t *testing.T) {
	e := history.Evidence{Claims: history.Claims{TTL: time.Second}, Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		c1 acquire 3-4 ok
		c0 release 5-6 ok
		c2 acquire 7-8 ok
		c1 release 70-71 ok
		nemesis stall 80 offset=30`)}
	v, err := exclusion(context.Background(), NewCase(e))
	if err != nil || v.Result != Violated || len(v.Findings) != 1 || v.Findings[0].Clients[0] != 2 {
		t.Errorf("got %+v, %v; want the overlap of c2 and c1 alone", v, err)
	}
}

func TestStallsDoNotHideThatNothingWasWrong(t *testing.T) {
	e := history.Evidence{Claims: history.Claims{TTL: time.Second}, Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		nemesis stall 900 offset=800`)}
	if v, err := exclusion(context.Background(), NewCase(e)); err != nil || v.Result != Held {
		t.Errorf("got %+v, %v; want %s", v, err, Held)
	}
}

func TestAnOverlapAtTheEndOfAHistoryLastsBeyondIt(t *testing.T) {
	e := history.Evidence{Claims: history.Claims{TTL: time.Second}, Ops: histories.Timeline(t, `
		c0 acquire 1-2 ok
		nemesis stall 5 offset=30
		c1 acquire 6-7 ok`)}
	v, err := exclusion(context.Background(), NewCase(e))
	if err != nil || v.Result != Violated || len(v.Findings) != 1 || v.Findings[0].To != 7*time.Millisecond {
		t.Errorf("got %+v, %v; want an overlap until the history's end", v, err)
	}
}

func stalled(s *story, at float64) {
	s.nemesis(at, history.Op{Client: history.NoClient, F: history.FStall, Offset: 200 * time.Millisecond})
}

func TestNoStallExcusesWhatNoDelayBringsAbout(t *testing.T) {
	tales(t, []tale{
		{"blocked for ever", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.nemesis(20, crash(0))
			s.healed(30)
			s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
			s.keys(2100)
			stalled(s, 2200)
		}, []string{"liveness: no-expiry for ever"}},
		{"kept out for ever by renewals", "redlock-naive", func(s *story) {
			watchdogsGoOn(s)
			stalled(s, 3100)
		}, []string{"liveness: foreign-renewal for ever"}},
		{"kept out for ever by renewals of what had no answer", "reentrant-hash-watchdog", func(s *story) {
			timerGoesOn(s)
			stalled(s, 3100)
		}, []string{"liveness: unknown"}},
		{"refused for ever", "rw-two-keys", func(s *story) {
			s.nemesis(1, history.Op{Client: history.NoClient, F: history.FElection, Node: "n0"})
			refused(s, "CROSSSLOT Keys in request don't hash to the same slot")
			stalled(s, 3200)
		}, []string{"liveness: cross-slot for ever"}},
		{"blocked up to the lease time", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, crash(0))
			s.queue(40, 1000, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
			stalled(s, 1300)
		}, []string{"liveness: unknown"}},
		{"an overlap", "exists-set", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1")
			s.take(20, 1, "OK", "SET", "lock", "1")
			s.give(30, 0, "1", "DEL", "lock")
			s.give(40, 1, "0", "DEL", "lock")
			stalled(s, 50)
		}, []string{"exclusion: unknown", "ownership: unknown"}},
		{"a lost update by a race", "exists-set", func(s *story) {
			s.take(10, 0, "OK", "SET", "lock", "1")
			s.take(20, 1, "OK", "SET", "lock", "1")
			s.touch(22, 0, history.FRead, 0, 1)
			s.touch(24, 1, history.FRead, 0, 2)
			s.touch(26, 1, history.FWrite, 1, 3)
			s.touch(28, 0, history.FWrite, 1, 4)
			s.give(30, 0, "1", "DEL", "lock")
			s.give(40, 1, "0", "DEL", "lock")
			stalled(s, 50)
		}, []string{"exclusion: unknown", "ownership: unknown", "resource: race"}},
		{"a panic", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			stalled(s, 50)
			s.nemesis(60, breakdown(history.FPanic, "c0"))
		}, []string{"conduct: panic", "liveness: unknown"}},
		{"a release that denies what it removed", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.refuses(40, 0, "1", s.cad("t0")...)
			stalled(s, 50)
		}, []string{falseAnswer}},
	})
}

// A lock that is blocked for ever is blocked at any pace of the machine. There are two
// exceptions: the blocking key was left behind because of a timeout, or an election without
// an injected fault lost the key's deletion.
func TestWhatBlocksForEverMayBeLeftByAStall(t *testing.T) {
	crashes := func(s *story) {
		s.take(10, 0, "1", "SETNX", "lock", "1")
		s.nemesis(20, crash(0))
	}
	released := func(s *story) {
		s.take(10, 0, "1", "SETNX", "lock", "1")
		s.invoke(49, 0, history.FRelease)
		s.cmd(50, 0, "1", "DEL", "lock")
		s.done(51, 0, history.OK)
	}
	elected := func(left func(*story)) func(*story) {
		return func(s *story) {
			left(s)
			s.nemesis(60, history.Op{Client: history.NoClient, F: history.FElection, Node: "n0"})
			s.nemesis(61, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
			s.at("n1")
		}
	}
	const forEver, unknown = "liveness: no-expiry for ever", "liveness: unknown"
	for _, c := range []struct {
		name string
		left func(*story)
		want string
	}{
		{"by who crashed with it", crashes, forEver},
		{"by who crashed while it asked", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.nemesis(20, crash(0))
		}, forEver},
		{"by who crashed with it, and had once had no answer", func(s *story) {
			s.invoke(1, 0, history.FAcquire)
			s.lost(2, 0, "SETNX", "lock", "1")
			s.done(5, 0, history.Info)
			crashes(s)
		}, forEver},
		{"by who never deletes", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.invoke(49, 0, history.FRelease)
			s.done(50, 0, history.OK)
		}, forEver},
		{"by who had no answer", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "1", "SETNX", "lock", "1")
			s.done(211, 0, history.Info)
		}, unknown},
		{"by who had no answer, and crashed later", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.unanswered(10, 0, "1", "SETNX", "lock", "1")
			s.done(211, 0, history.Info)
			s.nemesis(212, crash(0))
		}, unknown},
		{"by a client that crashed as the holder, after a command without an answer", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "1", "SETNX", "lock", "1")
			s.lost(11, 0, "EXPIRE", "lock", "1")
			s.done(211, 0, history.OK)
			s.nemesis(220, crash(0))
		}, unknown},
		{"by a client whose DEL was lost", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.invoke(49, 0, history.FRelease)
			s.lost(50, 0, "DEL", "lock")
			s.done(251, 0, history.Info)
		}, unknown},
		{"by a client whose DEL was lost in an election", elected(released), unknown},
		{"by a client that crashed before an election", elected(crashes), unknown},
		{"by an unobserved command", func(s *story) { s.unexplained(10, "SET", "lock", "1") }, unknown},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			s := tell(t, "setnx")
			c.left(s)
			stalled(s, 290)
			s.healed(300)
			s.queue(340, 3000, 1, "0", "SETNX", "lock", "1")
			s.keys(3700)
			e := s.evidence()
			if got := judged(t, e); !slices.Equal(got, []string{c.want}) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if v := OracleNamed("liveness").Judge(t.Context(), e); c.want == unknown && !slices.Equal(doubts(v), []Cause{NoExpiry}) {
				t.Errorf("in doubt is %v, want %s", doubts(v), NoExpiry)
			}
		})
	}
}

// doubts lists the causes of the findings that do not count: see Verdict.Doubtful.
func doubts(v Verdict) (causes []Cause) {
	for _, f := range v.Doubtful {
		causes = append(causes, f.Cause)
	}
	return causes
}

func TestWhatDoesNotCountIsKeptForAnotherRun(t *testing.T) {
	race := func(s *story) {
		s.take(10, 0, "OK", "SET", "lock", "1")
		s.take(20, 1, "OK", "SET", "lock", "1")
		s.give(30, 0, "1", "DEL", "lock")
		s.give(40, 1, "0", "DEL", "lock")
		s.take(60, 0, "OK", "SET", "lock", "1")
		s.take(70, 1, "OK", "SET", "lock", "1")
		s.give(80, 0, "1", "DEL", "lock")
		s.give(90, 1, "0", "DEL", "lock")
	}
	for _, c := range []struct {
		stall time.Duration
		want  []Cause
	}{
		{0, nil},
		{30 * time.Millisecond, []Cause{Race}},  // the overlaps are shorter than the stall
		{200 * time.Millisecond, []Cause{Race}}, // the stall exceeds a tenth of the lease
	} {
		s := tell(t, "exists-set")
		race(s)
		s.nemesis(100, history.Op{Client: history.NoClient, F: history.FStall, Offset: c.stall})
		v, err := oracles()[0].ask(t.Context(), NewCase(s.evidence()))
		if err != nil || !slices.Equal(doubts(v), c.want) || (c.want == nil) != (v.Result == Violated) {
			t.Errorf("a stall of %v: %s, doubtful %v (%s), %v; want %v", c.stall, v.Result, doubts(v), v.Why, err, c.want)
		}
	}
}

func TestWhatAnUnaskedElectionLosesIsNobodysFault(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.e.Claims.TTL = time.Minute // no election takes as long as a tenth of this lease
	s.take(10, 0, "OK", setPX("t0")...)
	s.nemesis(40, history.Op{Client: history.NoClient, F: history.FElection, Node: "n0"})
	s.nemesis(50, history.Op{Client: history.NoClient, F: history.FPromote, Node: "n1"})
	s.at("n1")
	s.hold(100, 200, 1, "t1")
	s.give(300, 0, "0", s.cad("t0")...)
	e := s.evidence()
	if _, spoilt := Stalled(e); !spoilt {
		t.Error("the trial is not spoilt")
	}
	v, err := oracles()[0].ask(t.Context(), NewCase(e))
	if err != nil || v.Result != Unknown || !slices.Equal(doubts(v), []Cause{ServerLostKey}) || !strings.HasPrefix(v.Why, "n0 was taken for dead though no fault had struck it") {
		t.Errorf("got %s (%s), doubtful %v, %v; want it unknown, with server-lost-key in doubt", v.Result, v.Why, doubts(v), err)
	}
}
