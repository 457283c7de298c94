package reporttest

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Trials returns the hand-made trials. They show causes that no recorded trial has, and details
// that a cause's recorded trial lacks.
func Trials(tb testing.TB) []Trial {
	return []Trial{
		race(tb), ForeignRenewal(tb), leaseOutlived(tb), serverLostKey(tb),
		clientClock(tb), orphanedKey(tb), readWrite(tb), quorum(tb), unclassified(tb),
		Evicted(tb), nodeClock(tb), SplitInTwo(tb), deadlocked(tb),
		fenceRegressed(tb), panicked(tb), runaway(tb), starved(tb),
	}
}

// race: two clients pass EXISTS before either has SET.
func race(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Lock, t.claims.Recovery = "exists-set", 0
	t.Acquire(0, 10, 16)
	t.Command(0, "n0", 10.5, "0", "EXISTS orders")
	t.Command(0, "n0", 13, "OK", "SET orders 1")
	t.Acquire(1, 11, 18)
	t.Command(1, "n0", 11.4, "0", "EXISTS orders")
	t.Command(1, "n0", 15, "OK", "SET orders 1")
	t.Touch(0, history.FRead, 20, 4)
	t.Touch(1, history.FRead, 22, 4)
	t.Touch(0, history.FWrite, 60, 5)
	t.Touch(1, history.FWrite, 70, 5)
	t.Release(0, 110, 113, history.OK)
	t.Command(0, "n0", 110.3, "1", "DEL orders")
	t.Release(1, 120, 123, history.OK)
	t.Command(1, "n0", 120.4, "0", "DEL orders")
	t.Busy(2, 40, 43)
	t.Command(2, "n0", 40.3, "1", "EXISTS orders")
	t.Acquire(2, 140, 146)
	t.Command(2, "n0", 140.3, "0", "EXISTS orders")
	t.Command(2, "n0", 143, "OK", "SET orders 1")
	t.Release(2, 240, 243, history.OK)
	t.Command(2, "n0", 240.3, "1", "DEL orders")
	e := t.Evidence()
	return t.Trial("race", "exists-set", "none", locks.Bug, e,
		Violated("exclusion", Finding(e, checker.Race, 18, 110, "c1 acquired \"orders\" at 0.018 s while c0 had held it since 0.016 s: both had seen the key absent before either set it", 1, 0)),
		Violated("resource", Finding(e, checker.Race, 22, 71, "c1 wrote 5 at 0.071 s over c0's 5, which it had never read", 1, 0)),
		checker.Verdict{Oracle: "liveness", Result: checker.Held},
	)
}

// ForeignRenewal: a watchdog without an owner check prolongs another client's key.
func ForeignRenewal(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Lock, t.claims.Renews = "set-nx-px-watchdog", true
	t.Acquire(0, 10, 13)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Window(40, 1400, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: Before(0, "hold", "")}})
	t.Acquire(1, 1100, 1103)
	t.Command(1, "n0", 1100.4, "OK", "SET orders token-b PX 1000 NX")
	t.Command(0, "n0", 1401, "1", "EXPIRE orders 1")
	t.Release(0, 1410, 1413, history.Fail)
	t.Crash(1, 1450)
	t.Busy(2, 2150, 2153)
	t.Command(2, "n0", 2150.4, "nil", "SET orders token-c PX 1000 NX")
	t.Acquire(2, 2450, 2453)
	t.Command(2, "n0", 2450.4, "OK", "SET orders token-c PX 1000 NX")
	t.Release(2, 2550, 2553, history.OK)
	e := t.Evidence()
	return t.Trial("foreign-renewal", "set-nx-px-watchdog", "client-pause", locks.Bug, e,
		Violated("ownership", Finding(e, checker.ForeignRenewal, 1402, 1402, "c0's EXPIRE at 1.402 s prolonged the key that c1 had set at 1.101 s", 0, 1)))
}

// leaseOutlived: a holder of set-nx-px is paused beyond its lease.
func leaseOutlived(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Acquire(0, 10, 13)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Touch(0, history.FRead, 15, 7)
	t.Window(60, 1560, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: Before(0, "touch", "")}})
	for _, at := range []float64{120, 320, 520, 720, 920} {
		t.Busy(1, at, at+3)
		t.Command(1, "n0", at+0.4, "nil", "SET orders token-b PX 1000 NX")
	}
	t.Acquire(1, 1120, 1123)
	t.Command(1, "n0", 1120.4, "OK", "SET orders token-b PX 1000 NX")
	t.Touch(1, history.FRead, 1125, 7)
	t.Touch(1, history.FWrite, 1180, 8)
	t.Release(1, 1223, 1226, history.OK)
	t.Command(1, "n0", 1223.4, "1", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders token-b")
	t.Acquire(2, 1300, 1303)
	t.Command(2, "n0", 1300.4, "OK", "SET orders token-c PX 1000 NX")
	t.Touch(2, history.FRead, 1305, 8)
	t.Touch(0, history.FWrite, 1561, 8)
	t.Release(0, 1562, 1565, history.Fail)
	t.Command(0, "n0", 1562.4, "0", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders token-a")
	t.Release(2, 1640, 1643, history.OK)
	t.Command(2, "n0", 1640.4, "1", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders token-c")
	t.Event(history.FHealed, 3000, nil)
	e := t.Evidence()
	return t.Trial("lease-outlived", "set-nx-px", "client-pause", locks.Limit, e,
		Violated("exclusion",
			Finding(e, checker.LeaseOutlived, 1123, 1223, "c1 acquired \"orders\" at 1.123 s while c0 had believed in its hold since 0.013 s; c0's key expired on n0 at 1.011 s", 1, 0),
			Finding(e, checker.LeaseOutlived, 1303, 1562, "c2 acquired at 1.303 s while c0 still believed in its hold", 2, 0)),
		Violated("resource", Finding(e, checker.LeaseOutlived, 1180, 1562, "c0 wrote 8 at 1.562 s over c1's 8, which it had never read", 0, 1)),
		checker.Verdict{Oracle: "ownership", Result: checker.Held},
		checker.Verdict{Oracle: "liveness", Result: checker.Held},
		checker.Verdict{Oracle: "reentrancy", Result: checker.NotApplicable, Why: "the recipe is not reentrant"},
	)
}

// serverLostKey: a failover loses an acknowledged grant.
func serverLostKey(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Window(100, 420, history.Window{Fault: "failover", Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 3, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n1", Key: "orders", Fate: history.FateLost}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: MS(419)}}})
	t.Acquire(0, 150, 153)
	t.Command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.Event(history.FNodeDown, 250, func(o *history.Op) { o.Node = "n0" })
	t.Event(history.FPromote, 300, func(o *history.Op) { o.Node = "n1" })
	t.Unknown(2, history.FAcquire, 230, 255)
	t.Acquire(1, 400, 403)
	t.Command(1, "n1", 400.4, "OK", "SET orders token-b PX 1000 NX")
	t.Touch(1, history.FWrite, 430, 2)
	t.Release(0, 500, 503, history.Fail)
	t.Release(1, 520, 523, history.OK)
	t.Event(history.FHealed, 600, nil)
	e := t.Evidence()
	return t.Trial("server-lost-key", "set-nx-px", "failover", locks.Limit, e,
		Violated("exclusion", Finding(e, checker.ServerLostKey, 403, 500, "c1 acquired on n1 at 0.403 s while c0 had held since 0.153 s by a key that n0 had acknowledged and n1 never had", 1, 0)))
}

// clientClock: a client whose clock is ahead takes over a held lock.
func clientClock(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Lock, t.claims.ClientClock = "getset", true
	t.Event(history.FClock, 5, func(o *history.Op) { o.Client, o.Offset = 1, MS(5000) })
	t.Window(5, 900, history.Window{Fault: "client-skew", Effect: history.ClockSet, Clients: []int{1}, Hits: 1, Impact: &history.Impact{Offset: 5 * time.Second, Attempts: 1}})
	t.Acquire(0, 10, 16)
	t.Command(0, "n0", 10.4, "1", "SETNX orders 2013")
	t.Command(0, "n0", 13, "1", "EXPIRE orders 1")
	t.Acquire(1, 100, 112)
	t.Command(1, "n0", 100.4, "0", "SETNX orders 7100")
	t.Command(1, "n0", 103, `"2013"`, "GET orders")
	t.Command(1, "n0", 106, `"2013"`, "GETSET orders 7100")
	t.Command(1, "n0", 109, "1", "EXPIRE orders 1")
	t.Touch(1, history.FWrite, 130, 2)
	t.Touch(0, history.FWrite, 150, 2)
	t.Release(0, 200, 203, history.OK)
	t.Command(0, "n0", 200.4, "1", "DEL orders")
	t.Release(1, 220, 223, history.OK)
	t.Command(1, "n0", 220.4, "0", "DEL orders")
	e := t.Evidence()
	return t.Trial("client-clock", "getset", "client-skew", locks.Bug, e,
		Violated("exclusion", Finding(e, checker.ClientClock, 112, 200, "c1, whose clock was 5 s ahead, took the lock over at 0.112 s while c0 had held it since 0.016 s", 1, 0)))
}

// orphanedKey: a crashed holder's key keeps others out until it expires.
func orphanedKey(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Acquire(0, 10, 13)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Window(60, 61, history.Window{Fault: "client-crash", Effect: history.Crashed, Clients: []int{0}, Hits: 1})
	t.Crash(0, 60.5)
	for _, at := range []float64{120, 320, 520, 720, 920} {
		t.Busy(1, at, at+3)
		t.Command(1, "n0", at+0.4, "nil", "SET orders token-b PX 1000 NX")
	}
	t.Acquire(1, 1120, 1123)
	t.Command(1, "n0", 1120.4, "OK", "SET orders token-b PX 1000 NX")
	t.Release(1, 1223, 1226, history.OK)
	e := t.Evidence()
	f := Finding(e, checker.OrphanedKey, 60.5, 1123, "c0 crashed at 0.061 s; its key kept the others out until 1.123 s", 0, 1)
	return t.Trial("orphaned-key", "set-nx-px", "client-crash", locks.Limit, e, Violated("liveness", f))
}

// readWrite: the first reader that leaves lets a writer in while the second reader still holds.
func readWrite(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Lock, t.claims.ReadWrite = "rw-two-keys", true
	t.AcquireMode(0, history.Read, 10, 14)
	t.Command(0, "n0", 10.4, "0", "EXISTS orders:write")
	t.Command(0, "n0", 12, "OK", "SET orders:read 1 EX 1")
	t.AcquireMode(1, history.Read, 20, 24)
	t.Command(1, "n0", 20.4, "0", "EXISTS orders:write")
	t.Command(1, "n0", 22, "OK", "SET orders:read 1 EX 1")
	t.ReleaseMode(0, history.Read, 60, 63)
	t.Command(0, "n0", 60.4, "1", "DEL orders:read")
	t.AcquireMode(2, history.Write, 80, 84)
	t.Command(2, "n0", 80.4, "0", "EXISTS orders:read")
	t.Command(2, "n0", 82, "OK", "SET orders:write 1 EX 1 NX")
	t.Touch(2, history.FWrite, 90, 3, 4)
	t.Touch(1, history.FRead, 95, 3, 4)
	t.ReleaseMode(1, history.Read, 124, 127)
	t.Command(1, "n0", 124.4, "0", "DEL orders:read")
	t.ReleaseMode(2, history.Write, 184, 187)
	t.Command(2, "n0", 184.4, "1", "DEL orders:write")
	e := t.Evidence()
	f := Finding(e, checker.ForeignDelete, 84, 124, "c2 acquired to write at 0.084 s while c1 had been reading since 0.024 s: c0's DEL at 0.061 s removed the key that both readers shared", 2, 1)
	out := t.Trial("read-write", "rw-two-keys", "none", locks.Bug, e, Violated("exclusion", f))
	out.Workload = "read-write"
	return out
}

// quorum: a naive RedLock on five nodes. Its keys expire while the holder still works.
func quorum(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Lock, t.claims.Quorum = "redlock-naive", 3
	nodes := []string{"n0", "n1", "n2", "n3", "n4"}
	t.Acquire(0, 10, 16)
	for i, n := range nodes {
		t.Command(0, n, 10.4+float64(i)/10, "OK", "SET orders token-a PX 1000 NX")
	}
	t.Window(20, 1400, history.Window{Fault: "node-pause", Effect: history.Paused, Nodes: []string{"n3"}, Hits: 2, Impact: &history.Impact{Commands: 2}})
	t.Window(30, 1300, history.Window{Fault: "partition", Effect: history.Cut, Links: slices.Concat(Link("c0", "n0", ""), Link("c0", "n1", "")), Hits: 4, Impact: &history.Impact{Messages: 4}})
	t.Acquire(1, 1050, 1056)
	for i, n := range nodes[:4] {
		c := t.Command(1, n, 1050.4+float64(i)/10, "OK", "SET orders token-b PX 1000 NX")
		if n == "n3" {
			c.Arrived, c.Served, c.Replied = MS(1400.5), MS(1400.5), 0
		}
	}
	t.Release(1, 1156, 1160, history.OK)
	for i, n := range nodes[:3] {
		t.Command(1, n, 1156.4+float64(i)/10, "1", "DEL orders")
	}
	t.Op(0, history.FLost, 1310, -1, "", nil)
	t.ops[len(t.ops)-1].Type = history.Info
	t.Release(0, 1320, 1324, history.OK)
	e := t.Evidence()
	f := Finding(e, checker.LeaseOutlived, 1056, 1156, "c1 had a quorum at 1.056 s while c0 had held since 0.016 s", 1, 0)
	out := t.Trial("quorum", "redlock-naive", "chaos", locks.Bug, e, Violated("exclusion", f))
	out.Topology, out.Nodes = testbed.Independent, 5
	return out
}

// unclassified: a violation without an explanation. No recipe declares it.
func unclassified(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Acquire(0, 10, 13)
	t.Acquire(1, 30, 33)
	t.Release(0, 60, 63, history.OK)
	t.Release(1, 70, 73, history.OK)
	e := t.Evidence()
	return t.Trial("unclassified", "set-nx-px", "none", "", e,
		Violated("exclusion", Finding(e, checker.Unclassified, 33, 60, "c0 and c1 both held \"orders\" from 0.033 s to 0.06 s", 1, 0)))
}
