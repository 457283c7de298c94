package story

import (
	"fmt"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// In each of these trials, c0 does not renew its current lease. The findings come from the checker.
func TestStoriesTellWhyNoRenewalWasSent(t *testing.T) {
	for name, make := range map[string]func(*reporttest.Tape){
		"renewal-stopped": stoppedByARelease, "renewed-instead": renewedReleasedOnes, "renewal-missing": neverRenewedAgain,
	} {
		t.Run(name, func(t *testing.T) {
			tape := reporttest.NewTapeOf(t, "set-nx-ex-bounded-renewal")
			make(tape)
			tape.Acquire(1, 1200, 1203)
			tape.Command(1, "n0", 1200.4, "OK", "SET orders token-b EX 1 NX")
			tape.Release(1, 1300, 1303, history.OK)
			tape.Command(1, "n0", 1300.4, "1", "EVALSHA "+tape.Script("compare-and-delete")+" 1 orders token-b")
			tape.Release(0, 1500, 1503, history.OK)
			tape.Command(0, "n0", 1500.4, "0", "EVALSHA "+tape.Script("compare-and-delete")+" 1 orders token-a")
			e := tape.Evidence()
			verdicts, err := checker.Judge(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			f, ok := FocusOn(trialOf(tape.Trial(name, "set-nx-ex-bounded-renewal", "none", locks.Bug, e, verdicts...)))
			if !ok {
				t.Fatal("no finding to tell")
			}
			reporttest.Golden(t, name+".txt", []byte(Tell(f).Terminal(100)))
		})
	}
}

func renews(t *reporttest.Tape, at float64, reply, token string) {
	t.Command(0, "n0", at, reply, "EVALSHA "+t.Script("compare-and-expire")+" 1 orders "+token+" 1")
}

func heldAndRenewedOnce(t *reporttest.Tape) {
	t.Acquire(0, 100, 103)
	t.Command(0, "n0", 100.4, "OK", "SET orders token-a EX 1 NX")
	renews(t, 104, "1", "token-a")
}

func neverRenewedAgain(t *reporttest.Tape) { heldAndRenewedOnce(t) }

// stoppedByARelease: c0 holds a second lock for a while. After the release of that lock, c0 sends
// no renewal of the first lock.
func stoppedByARelease(t *reporttest.Tape) {
	heldAndRenewedOnce(t)
	other := func(o *history.Op) { o.Lock = "stock" }
	t.Op(0, history.FAcquire, 110, 113, history.OK, other)
	t.Command(0, "n0", 110.4, "OK", "SET stock token-s EX 1 NX")
	t.Op(0, history.FRelease, 400, 403, history.OK, other)
	t.Command(0, "n0", 400.4, "1", "EVALSHA "+t.Script("compare-and-delete")+" 1 stock token-s")
}

// renewedReleasedOnes: c0 still renews two released leases, but never its current one.
func renewedReleasedOnes(t *reporttest.Tape) {
	for i := range 2 {
		at, token := 10+30*float64(i), fmt.Sprintf("token-%d", i)
		t.Op(0, history.FAcquire, at, at+3, history.OK, func(o *history.Op) { o.Lease = &history.Lease{Token: token} })
		t.Command(0, "n0", at+0.4, "OK", "SET orders "+token+" EX 1 NX")
		renews(t, at+4, "1", token)
		t.Release(0, at+10, at+13, history.OK)
		t.Command(0, "n0", at+10.4, "1", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders "+token)
		renews(t, at+1005, "0", token)
	}
	t.Acquire(0, 100, 103)
	t.Command(0, "n0", 100.4, "OK", "SET orders token-a EX 1 NX")
}
