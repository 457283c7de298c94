package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
)

// A verdict on liveness lists at most maxFindings findings, in order of From. If there are more,
// findings about clients that never got in have priority.
func TestALivenessVerdictListsClientsThatNeverGotIn(t *testing.T) {
	const orphan, starved, forever = OrphanedKey, Starved, NoExpiry
	of := func(cause Cause, n int, from, step time.Duration) (all []Finding) {
		for i := range n {
			all = append(all, Finding{Cause: cause, From: from + time.Duration(i)*step, Forever: cause == forever})
		}
		return all
	}
	for _, c := range []struct {
		name            string
		findings, stuck []Finding
		want            map[Cause]int
	}{
		{"nothing", nil, nil, map[Cause]int{}},
		{"few", of(orphan, 3, 10, 1), of(forever, 2, 5, 1), map[Cause]int{orphan: 3, forever: 2}},
		{"as many as are listed", of(orphan, maxFindings-2, 10, 1), of(forever, 2, 5, 1), map[Cause]int{orphan: maxFindings - 2, forever: 2}},
		{"stuck before the others", of(orphan, maxFindings, 10, 1), of(forever, 2, 5, 1), map[Cause]int{orphan: maxFindings - 2, forever: 2}},
		{"starved before the others", of(orphan, maxFindings, 10, 1), of(starved, 2, 5, 1), map[Cause]int{orphan: maxFindings - 2, starved: 2}},
		{"starved after the others", of(orphan, maxFindings, 10, 1), of(starved, 2, 500, 1), map[Cause]int{orphan: maxFindings - 2, starved: 2}},
		{"out of order", of(orphan, maxFindings, 500, -1), of(starved, 2, 450, -1), map[Cause]int{orphan: maxFindings - 2, starved: 2}},
		{"more stuck than are listed", of(orphan, 3, 10, 1), of(forever, maxFindings+5, 5, 1), map[Cause]int{forever: maxFindings}},
	} {
		got := listed(c.findings, c.stuck)
		if !slices.IsSortedFunc(got, func(a, b Finding) int { return cmp.Compare(a.From, b.From) }) {
			t.Errorf("%s: the findings are not in order of From", c.name)
		}
		count := map[Cause]int{}
		for _, f := range got {
			count[f.Cause]++
		}
		if !maps.Equal(count, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, count, c.want)
		}
	}
}

func TestLivenessIsUnknownWhereNothingExplainsTheWaiting(t *testing.T) {
	tales(t, []tale{
		{"the run was killed", "set-nx-px", func(s *story) {
			s.killed = true
			s.hold(10, 20, 0, "t0")
		}, []string{"liveness: unknown"}},
		{"no key is left that could have kept it out", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			for at := 10.0; at < 3000; at += 100 {
				s.invoke(at, 1, history.FAcquire)
				s.lost(at+1, 1, setPX("t1")...)
				s.done(at+50, 1, history.Info)
			}
			s.keys(3100)
		}, []string{"liveness: unknown"}},
		{"too few nodes are stuck to keep it out", "redlock", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.onNodes(10, 0, otherHalf, "OK", "SET", "lock", "t0", "NX")
			s.done(50, 0, history.Info)
			s.healed(60)
			for at := 100.0; at < 3000; at += 100 {
				s.vote(at, 1, "t1", nil, otherHalf)
			}
			for n := range 5 {
				s.node = fmt.Sprintf("n%d", n)
				s.keys(3100)
			}
		}, []string{"liveness: unknown"}},
		{"it got in long after the recovery time", "set-nx-px", func(s *story) {
			s.hold(2, 4, 0, "t0")
			s.healed(5)
			for at := 10.0; at < 5000; at += 100 {
				s.invoke(at, 1, history.FAcquire)
				s.lost(at+1, 1, setPX("t1")...)
				s.done(at+50, 1, history.Info)
			}
			s.take(5100, 1, "OK", setPX("t1")...)
		}, []string{"liveness: unknown"}},
		{"somebody alive still believes", "setnx", func(s *story) {
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.healed(20)
			s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
			s.keys(2100)
		}, []string{"liveness: unknown"}},
		{"the run ended before the recovery time was over", "set-nx-px", func(s *story) {
			s.stranger(300, setPX("t0")...)
			s.healed(310)
			s.busy(320, 1, "nil", setPX("t1")...)
			s.keys(400)
		}, []string{"liveness: unknown"}},
	})
}

func TestAForeverBlockedLockIsToldWithItsStory(t *testing.T) {
	s := tell(t, "setnx")
	s.take(10, 0, "1", "SETNX", "lock", "1")
	s.nemesis(20, crash(0))
	s.healed(30)
	for at := 40.0; at < 2000; at += 50 {
		s.busy(at, 1, "0", "SETNX", "lock", "1")
		s.busy(at+10, 2, "0", "SETNX", "lock", "1")
	}
	s.keys(2100)
	v := liveness(t.Context(), NewCase(s.evidence()))
	if len(v.Findings) != 1 {
		t.Fatalf("got %+v, want one finding", v)
	}
	want := "c1, c2 never got into lock again: lock on n0 has no TTL and no living owner: c0's SETNX had set it at 0.010s, and c0 crashed at 0.020s"
	if got := plain.Summary(v.Findings[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Some watchdogs end on their own: the watchdog of recipe set-nx-ex-bounded-renewal renews a lease
// four times. If the trial ends three leases after a holder hung, liveness cannot tell whether the
// holder's watchdog would have ended.
func TestLivenessUnknownBesideAHolderThatHangs(t *testing.T) {
	tales(t, []tale{{"a watchdog that may still end", "set-nx-px-watchdog", func(s *story) {
		s.hungOn(3000)
		s.keys(3000)
	}, []string{"liveness: unknown"}}})
}
