package checker

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker/account"
	"github.com/lockstorm/lockstorm/history"
)

// A client's hang does not explain a key that an earlier attempt of the client left behind.
func TestAHangIsNotBlamedForAnEarlierAttempt(t *testing.T) {
	s := tell(t, "set-nx-px")
	s.invoke(9, 0, history.FAcquire)
	s.unanswered(10, 0, "OK", setPX("t0")...)
	s.done(300, 0, history.Info)
	s.queue(310, 900, 1, "nil", setPX("t1")...)
	s.take(1100, 0, "OK", setPX("t2")...)
	s.nemesis(1200, hang(0))
	found := liveness(t.Context(), NewCase(s.evidence())).Findings
	if len(found) != 1 || found[0].Account.Reasons[0].What != account.SetUnknown {
		t.Errorf("got %+v, want one finding by %q", found, account.SetUnknown)
	}
}

// A holder that stopped at its deadline attends to its entry until it has released it: who asks in vain
// meanwhile was not kept out by an orphan beside it alone.
func TestAnOrphanBesideAHoldersLapsedEntry(t *testing.T) {
	entries := func(release float64) func(s *story) {
		return func(s *story) {
			s.e.Claims.ReadWrite = true
			s.invoke(9, 0, history.FAcquire, history.Read)
			s.cmd(10, 0, "2", "HSET", "lock", "t0", "r", "mode", "read")
			s.cmd(11, 0, "1", "PEXPIRE", "lock", "1000")
			s.done(12, 0, history.OK, history.Lease{Deadline: ms(1009)})
			s.tries(300, 2, history.Read, history.OK, []string{"1", "HSET", "lock", "t2", "r"}, []string{"1", "PEXPIRE", "lock", "1000"})
			s.invoke(399, 2, history.FRelease, history.Read)
			s.lost(400, 2, "HDEL", "lock", "t2")
			s.done(700, 2, history.Info)
			for _, at := range []float64{min(release, 1100), max(release, 1100)} {
				if at == release {
					s.give(at, 0, "1", "HDEL", "lock", "t0")
				} else {
					s.tries(at, 1, history.Write, history.Fail, []string{"1", "EXISTS", "lock"})
				}
			}
			s.tries(1400, 1, history.Write, history.OK, []string{"0", "EXISTS", "lock"}, []string{"1", "HSET", "lock", "t3", "w"})
			s.give(1500, 1, "1", "DEL", "lock")
		}
	}
	tales(t, []tale{
		{"the holder has yet to release", "set-nx-px", entries(1200), nil},
		{"the holder has released", "set-nx-px", entries(1050), []string{"liveness: orphaned-key"}},
	})
}
