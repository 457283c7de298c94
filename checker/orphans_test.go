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
