package checker

import (
	"context"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

func TestReentrancy(t *testing.T) {
	for _, c := range histories.Cases(t, "testdata/reentrancy.txt") {
		t.Run(c.Name, func(t *testing.T) {
			c.Claims = history.Claims{Reentrant: true, TTL: 100 * time.Millisecond}
			checkVerdict(t, reentrancy(context.Background(), NewCase(c.Evidence)), c.Want)
		})
	}
}

func TestReentrancyDoesNotApply(t *testing.T) {
	nested := histories.Timeline(t, "c0 acquire 1-2 ok\nc0 acquire 3-4 ok")
	plain := histories.Timeline(t, "c0 acquire 1-2 ok\nc0 release 3-4 ok\nc1 acquire 3-4 ok\nc0 acquire 5-6 fail")
	for name, e := range map[string]history.Evidence{
		"no claim":             {Ops: nested},
		"nobody entered again": {Ops: plain, Claims: history.Claims{Reentrant: true}},
	} {
		if v := reentrancy(context.Background(), NewCase(e)); v.Result != NotApplicable || v.words() == "" {
			t.Errorf("%s: got %s (%s), want %s", name, v.Result, v.words(), NotApplicable)
		}
	}
}

func TestAHoldIsCertainAsLongAsItsKeyWasSeenToLive(t *testing.T) {
	for life, want := range map[string][]string{
		"3": {"c1 was granted lock at 1.503s after only 1 of c0's 2 acquires (since 0.003s) had been released: c1 took over at 1.502s the lock that c0 had held since 0.002s, longer than its lease"},
		"1": nil,
	} {
		s := tell(t, "reentrant-local") // the lease is one second
		s.invoke(1, 0, history.FAcquire)
		s.cmd(2, 0, "OK", "SET", "lock", "a", "NX", "EX", life)
		s.done(3, 0, history.OK)
		s.invoke(4, 0, history.FAcquire)
		s.done(5, 0, history.OK)
		s.invoke(6, 0, history.FRelease)
		s.done(7, 0, history.OK)
		s.invoke(1500, 1, history.FAcquire)
		s.cmd(1502, 1, "OK", "SET", "lock", "b", "XX", "EX", "1")
		s.done(1503, 1, history.OK)
		s.invoke(1600, 0, history.FRelease)
		s.done(1601, 0, history.OK)
		s.healed(1700)
		if life == "1" {
			s.e.Commands[1].Args[3] = "NX"
		}
		checkVerdict(t, reentrancy(t.Context(), NewCase(s.evidence())), want)
	}
}

// A lock may report a successful release although it got no reply, as reentrant-local does. The
// release's command may still arrive later and end a later grant.
func TestAReleaseWithoutAnAnswerIsOfUnknownOutcomeWhateverTheLockSays(t *testing.T) {
	for _, said := range []history.Type{history.OK, history.Info} {
		s := tell(t, "reentrant-local")
		s.invoke(1, 0, history.FAcquire)
		s.cmd(2, 0, "OK", "SET", "lock", "a", "NX", "EX", "1")
		s.done(3, 0, history.OK)
		s.invoke(10, 0, history.FRelease)
		s.late(11, 1600, 0, "1", "DEL", "lock").Replied = 0
		s.done(500, 0, said)
		s.invoke(1500, 1, history.FAcquire)
		s.cmd(1501, 1, "OK", "SET", "lock", "b", "NX", "EX", "1")
		s.done(1502, 1, history.OK)
		s.invoke(1650, 2, history.FAcquire)
		s.cmd(1651, 2, "OK", "SET", "lock", "c", "NX", "EX", "1")
		s.done(1652, 2, history.OK)
		s.invoke(1660, 2, history.FAcquire)
		s.done(1661, 2, history.OK)
		s.healed(1700)
		if v := reentrancy(t.Context(), NewCase(s.evidence())); v.Result == Violated {
			t.Errorf("the late release was told as %s: got %s, although nobody certainly held the lock", said, v.Result)
		}
	}
}

// c2 re-enters the lock while c1 believes that it holds the lock. But c1's grant has ended: a late
// DEL of c0 removed c1's key. If the DEL belonged to an operation, this operation had completed long
// before. Only if no DEL comes does c1 definitely hold the lock.
func TestAHoldIsCertainNoLongerThanItsKeyWasSeenToStand(t *testing.T) {
	for name, c := range map[string]struct {
		late func(*story)
		want []string
	}{
		"a release whose reply came after its ok": {func(s *story) {
			s.invoke(10, 0, history.FRelease)
			s.late(11, 1600, 0, "1", "DEL", "lock")
			s.done(500, 0, history.OK)
		}, nil},
		"a command that was sent after its release's ok": {func(s *story) {
			s.invoke(10, 0, history.FRelease)
			late := s.late(11, 1600, 0, "1", "DEL", "lock")
			late.Sent = ms(600)
			s.done(500, 0, history.OK)
		}, nil},
		"the clean-up of a refused acquire": {func(s *story) {
			s.invoke(10, 0, history.FAcquire)
			s.late(11, 1600, 0, "1", "DEL", "lock")
			s.done(500, 0, history.Fail)
		}, nil},
		"a command of no operation": {func(s *story) { s.late(600, 1600, 0, "1", "DEL", "lock") }, nil},
		"nothing removes it": {func(*story) {}, []string{
			"c2 entered lock again at 1.661s while c1 definitely held it (since 1.502s, and never gave it back): c2's SET at 1.651s overwrote lock, which c1 had set at 1.501s"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, "reentrant-local")
			s.invoke(1, 0, history.FAcquire)
			s.cmd(2, 0, "OK", "SET", "lock", "a", "NX", "EX", "1")
			s.done(3, 0, history.OK)
			c.late(s)
			s.invoke(1500, 1, history.FAcquire)
			s.cmd(1501, 1, "OK", "SET", "lock", "b", "NX", "EX", "1")
			s.done(1502, 1, history.OK)
			s.invoke(1650, 2, history.FAcquire)
			s.cmd(1651, 2, "OK", "SET", "lock", "c", "EX", "1")
			s.done(1652, 2, history.OK)
			s.invoke(1660, 2, history.FAcquire)
			s.done(1661, 2, history.OK)
			s.healed(1700)
			checkVerdict(t, reentrancy(t.Context(), NewCase(s.evidence())), c.want)
		})
	}
}

// If the recipe's own command removes a grant too early, the recipe is at fault. Such a
// command belongs to the first of two releases, or to the attempt of the client that then
// gets the lock.
func TestAGrantThatWasRemovedTooEarlyWasFreedEarly(t *testing.T) {
	for name, c := range map[string]struct {
		remove   func(*story)
		violated bool
	}{
		"by the first release":        {func(s *story) { s.late(6.5, 6.6, 0, "1", "DEL", "lock") }, true},
		"by the other's acquire":      {func(s *story) { s.late(20.1, 20.2, 1, "1", "DEL", "lock") }, true},
		"by a third client's attempt": {func(s *story) { s.late(15.1, 15.2, 2, "1", "DEL", "lock") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t, "reentrant-local")
			s.invoke(1, 0, history.FAcquire)
			s.cmd(2, 0, "OK", "SET", "lock", "a", "NX", "EX", "1")
			s.done(3, 0, history.OK)
			s.invoke(4, 0, history.FAcquire)
			s.done(5, 0, history.OK)
			s.invoke(6, 0, history.FRelease)
			s.invoke(15, 2, history.FAcquire)
			s.invoke(20, 1, history.FAcquire)
			c.remove(s)
			s.cmd(21, 1, "OK", "SET", "lock", "b", "NX", "EX", "1")
			s.done(22, 1, history.OK)
			s.healed(1700)
			v := reentrancy(t.Context(), NewCase(s.evidence()))
			if (v.Result == Violated) != c.violated {
				t.Errorf("got %s (%v), want violated: %v", v.Result, v.Findings, c.violated)
			}
		})
	}
}

// A Redis client sends the command of a release again if the reply was lost. The repeated command
// finds no key, but no other client removed the key.
func TestAReleaseThatIsSentAgainIsNotDeniedByAnother(t *testing.T) {
	release := func(first, second func(s *story)) func(s *story) {
		return func(s *story) {
			s.take(10, 0, "1", s.enter("owner-zero")...)
			s.take(20, 0, "1", s.enter("owner-zero")...)
			s.invoke(29, 0, history.FRelease)
			first(s)
			s.done(35, 0, history.OK)
			s.invoke(39, 0, history.FRelease)
			second(s)
			s.done(50, 0, history.Fail)
		}
	}
	bare := func(at float64, reply string) func(s *story) {
		return func(s *story) { s.cmd(at, 0, reply, "DEL", "lock") }
	}
	tales(t, []tale{
		{"its own first command had removed the key", "reentrant-hash", release(
			func(s *story) { s.cmd(30, 0, "0", s.leave("owner-zero")...) },
			func(s *story) {
				s.unanswered(40, 0, "1", s.leave("owner-zero")...)
				s.cmd(45, 0, "nil", s.leave("owner-zero")...)
			}), nil},
		{"the release before had removed the key", "reentrant-hash", release(bare(30, "1"), bare(40, "0")), []string{"reentrancy: race"}},
	})
}
