package story

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/reporttest"
)

// The second release panics. The story says that it was the second call.
func TestAPanicIsToldWithTheCallThatItEnded(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(0, 10, 13)
	tape.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	tape.Release(0, 20, 23, history.OK)
	tape.Command(0, "n0", 20.4, "1", "DEL orders")
	tape.Acquire(0, 30, 33)
	tape.Command(0, "n0", 30.4, "OK", "SET orders token-a PX 1000 NX")
	tape.Op(1, history.FAcquire, 35, -1, "", nil)
	tape.Op(0, history.FRelease, 40, -1, "", nil)
	tape.Command(0, "n0", 40.4, "1", "DEL orders")
	tape.Event(history.FPanic, 43, func(o *history.Op) { o.Client, o.Error = 0, "close of closed channel" })
	e := tape.Evidence()
	verdicts, err := checker.Judge(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	trial := tape.Trial("", "set-nx-px", "none", locks.Bug, e, verdicts...)
	says(t, toldOf(t, trial), []string{
		`0.0314 s: c0 acquired "orders"`, `0.040 s: c0 began to release "orders". It had released it once before`, "close of closed channel",
	}, []string{"c1"})
}

// A hanging client never ends its hold. Attempts of other clients count as in vain from the
// beginning of that hold.
func TestWhoAskedAHungHolderIsCountedFromItsGrant(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(0, 10, 13)
	tape.Command(0, "n0", 10.4, "1", "SETNX orders 1")
	tape.Event(history.FHung, 14, func(o *history.Op) { o.Client = 0 })
	for _, at := range []float64{100, 600, 1100, 1600} {
		tape.Busy(1, at, at+3)
		tape.Command(1, "n0", at+0.4, "0", "SETNX orders 1")
	}
	e := tape.Evidence()
	f := reporttest.Finding(e, checker.HungHolder, 1050, 1700, "nobody got in", 1)
	f.Clients, f.Forever = []int{0, 1}, true
	trial := tape.Trial("", "setnx-expire", "hung-work", locks.Limit, e, reporttest.Violated("liveness", f))
	says(t, toldOf(t, trial), []string{"0.100 s: from now on c1 asked for the lock in vain, 4 times"}, nil)
}

// A hanging client has its key on several nodes, so that no other client can get a quorum.
// Attempts count as in vain from the hanging client's grant on, not from the beginning of the
// finding.
func TestWhoAskedAHungHolderOfAQuorumIsCountedFromItsGrant(t *testing.T) {
	nodes := []string{"n0", "n1", "n2", "n3", "n4"}
	tape := reporttest.NewTape(t)
	tape.Acquire(0, 10, 16)
	for i, n := range nodes {
		tape.Command(0, n, 10.4+float64(i), "1", "SETNX orders 1")
	}
	tape.Event(history.FHung, 17, func(o *history.Op) { o.Client = 0 })
	for _, at := range []float64{100, 600, 1100, 1600} {
		tape.Busy(1, at, at+8)
		for i, n := range nodes {
			tape.Command(1, n, at+0.4+float64(i), "0", "SETNX orders 1")
		}
	}
	e := tape.Evidence()
	e.Claims.Lock, e.Claims.Quorum = "redlock-naive", 3
	f := reporttest.Finding(e, checker.HungHolder, 1050, 1700, "nobody got in", 1)
	f.Clients, f.Forever = []int{0, 1}, true
	trial := tape.Trial("", "redlock-naive", "hung-work", locks.Limit, e, reporttest.Violated("liveness", f))
	says(t, toldOf(t, trial), []string{"0.100 s: from now on c1 asked for the lock in vain, 4 times"}, nil)
}

// A hanging client holds the lock beyond its lease, to the trial's end. The story says so, and does
// not advise renewal, which would block all clients for ever.
func TestAHungHolderWithoutRenewalIsToldToTheTrialsEnd(t *testing.T) {
	tape := reporttest.NewTape(t)
	tape.Acquire(0, 10, 13)
	tape.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	tape.Event(history.FHung, 14, func(o *history.Op) { o.Client = 0 })
	tape.Acquire(1, 1050, 1053)
	tape.Command(1, "n0", 1050.4, "OK", "SET orders token-b PX 1000 NX")
	tape.Touch(1, history.FRead, 1060, 0)
	e := tape.Evidence()
	verdicts, err := checker.Judge(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	trial := tape.Trial("", "set-nx-px", "hung-work", locks.Limit, e, verdicts...)
	says(t, toldOf(t, trial), []string{"both did until the trial ended", "Not renewal"}, []string{"until 1.06", "renewing the lease"})
}
