package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/histories"
	"github.com/lockstorm/lockstorm/history"
)

// breakdown returns the event by which the code under test ended the trial. f is its name, such as
// history.FPanic.
func breakdown(f, detail string) history.Op {
	return history.Op{Client: history.NoClient, F: f, Error: detail}
}

func TestConductIsViolatedByWhatEndsTheTrial(t *testing.T) {
	calm := func(s *story) {
		s.hold(10, 20, 0, "t0")
	}
	tales(t, []tale{
		{"an orderly trial", "set-nx-px", calm, nil},
		{"a deadlock", "set-nx-px", func(s *story) {
			calm(s)
			s.healed(30)
			s.nemesis(40, breakdown(history.FDeadlock, "c1 waits for a reply"))
		}, []string{"conduct: deadlock", "liveness: unknown"}},
		{"a panic before anything was healed", "set-nx-px", func(s *story) {
			calm(s)
			s.killed = true
			s.nemesis(40, breakdown(history.FPanic, "index out of range"))
		}, []string{"conduct: panic", "liveness: unknown"}},
		{"a runaway beside a violation", "set-nx-px", func(s *story) {
			twoHoldersByExpiry(s)
			s.healed(2000)
			s.nemesis(2001, breakdown(history.FRunaway, "100000 commands"))
		}, []string{"conduct: runaway", "exclusion: lease-outlived", "liveness: unknown"}},
	})
}

func TestConductAlwaysApplies(t *testing.T) {
	for name, ops := range map[string][]history.Op{
		"nothing happened":      nil,
		"nothing was acquired":  histories.Timeline(t, "nemesis healed 5"),
		"a window of that name": {{Process: history.Nemesis, Type: history.Invoke, F: history.FPanic, Window: &history.Window{}}},
	} {
		if v := conduct(t.Context(), NewCase(history.Evidence{Ops: ops})); v.Result != Held {
			t.Errorf("%s: got %s, want %s", name, v.Result, Held)
		}
	}
}

func TestABreakdownIsToldInItsOwnWords(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.take(10, 0, "OK", setPX("t0")...)
	s.nemesis(40, breakdown(history.FPanic, "index out of range [3] with length 2"))
	v := conduct(t.Context(), NewCase(s.evidence()))
	if len(v.Findings) != 1 || !strings.Contains(plain.Summary(v.Findings[0]), "at 0.040s the code under test panicked: index out of range [3] with length 2") {
		t.Errorf("got %+v", v.Findings)
	}
}

// If the code under test breaks down while a client waits for a lock, liveness does not say that
// the lock blocked this client for ever, or for too long.
func TestLivenessIsNotFooledByABreakdown(t *testing.T) {
	tales(t, []tale{
		{"a key without a life of a holder that never got to its release", "setnx", func(s *story) {
			s.healed(5)
			s.take(10, 0, "1", "SETNX", "lock", "1")
			s.invoke(15, 0, history.FRelease)
			s.queue(40, 2000, 1, "0", "SETNX", "lock", "1")
			s.nemesis(2001, breakdown(history.FDeadlock, "c0 waits"))
			s.keys(2002)
		}, []string{"conduct: deadlock", "liveness: unknown"}},
		{"a dead owner's key that nobody saw expire", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, crash(0))
			s.healed(25)
			s.busy(40, 1, "nil", setPX("t1")...)
			s.nemesis(60, breakdown(history.FPanic, "c1"))
			s.keys(61)
		}, []string{"conduct: panic", "liveness: unknown"}},
		{"a dead owner's key that was seen to expire", "set-nx-px", func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.nemesis(20, crash(0))
			s.healed(25)
			s.busy(40, 1, "nil", setPX("t1")...)
			s.hold(1100, 1150, 1, "t1")
			s.nemesis(1200, breakdown(history.FPanic, "c1"))
		}, []string{"conduct: panic", "liveness: orphaned-key"}},
	})
	if v := liveness(t.Context(), NewCase(history.Evidence{Claims: history.Claims{TTL: time.Second}, Ops: histories.Timeline(t, "nemesis deadlock 5")})); v.Result != Unknown {
		t.Errorf("a history of nothing but a deadlock: got %s, want %s", v.Result, Unknown)
	}
}
