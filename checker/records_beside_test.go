package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/history"
)

// ask adds an attempt at a lock that has a second key, "lock:last". Every attempt, also one that
// is refused, overwrites the second key with its token.
func ask(s *story, at float64, client int, token string, how history.Type) {
	s.invoke(at-1, client, history.FAcquire)
	s.cmd(at, client, "OK", "SET", "lock:last", token)
	reply := "OK"
	if how != history.OK {
		reply = "nil"
	}
	s.cmd(at+1, client, reply, "SET", "lock", token, "NX", "PX", "1000")
	s.done(at+2, client, how)
}

// A client that overwrites a second key of a lock breaks the lock only if the lock depends on that
// key.
func TestOverwritingARecordBesideTheLockRobsNobody(t *testing.T) {
	tales(t, []tale{
		{"a record of who asked last", "set-nx-px", func(s *story) {
			ask(s, 10, 0, "t0", history.OK)
			ask(s, 20, 1, "t1", history.Fail)
			s.give(40, 0, "1", s.cad("t0")...)
			ask(s, 50, 1, "t2", history.OK)
			s.give(60, 1, "1", s.cad("t2")...)
		}, nil},
		{"a record that nobody's release was seen to ignore", "set-nx-px", func(s *story) {
			ask(s, 10, 0, "t0", history.OK)
			ask(s, 20, 1, "t1", history.Fail)
		}, nil},
		{"whose the lock is, which the release asks for", "set-nx-px", func(s *story) {
			ask(s, 10, 0, "t0", history.OK)
			ask(s, 20, 1, "t1", history.Fail)
			s.invoke(39, 0, history.FRelease)
			s.cmd(40, 0, quoted("t1"), "GET", "lock:last")
			s.done(41, 0, history.Fail)
		}, []string{"ownership: race"}},
		{"the lock itself, and not what stands beside it", "set-nx-px", func(s *story) {
			s.invoke(9, 0, history.FAcquire)
			s.cmd(10, 0, "OK", "SET", "lock", "t0", "PX", "1000")
			s.cmd(11, 0, "OK", "SET", "lock:c0", "t0", "PX", "1000")
			s.done(12, 0, history.OK)
			s.invoke(19, 1, history.FAcquire)
			s.cmd(20, 1, "OK", "SET", "lock", "t1", "PX", "1000")
			s.done(22, 1, history.Fail)
			s.invoke(29, 0, history.FRelease)
			s.cmd(30, 0, quoted("t1"), "GET", "lock")
			s.done(31, 0, history.Fail)
		}, []string{"ownership: race"}},
	})
}

// A release may leave the key with another TTL. If this TTL is shorter, the key is not orphaned; a
// longer one blocks the lock.
func TestAKeyMayBeLeftToEndSooner(t *testing.T) {
	for life, want := range map[string]Result{"400": Held, "2000": Violated} {
		s := tell(t, "set-nx-px")
		s.take(10, 0, "OK", setPX("t0")...)
		s.give(40, 0, "1", "PEXPIRE", "lock", life)
		s.busy(100, 1, "nil", setPX("t1")...)
		s.busy(300, 1, "nil", setPX("t1")...)
		s.hold(2500, 2600, 1, "t2")
		s.healed(2700)
		verdicts, err := Judge(t.Context(), s.evidence())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range verdicts {
			if v.Oracle == "liveness" && v.Result != want {
				t.Errorf("with %s ms left, liveness: got %s (%v), want %s", life, v.Result, v.Why, want)
			}
		}
	}
}
