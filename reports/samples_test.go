package reports

import (
	"testing"

	"slices"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// handmadeTrials are hand-made trials, one per cause.
func handmadeTrials(tb testing.TB) []handmade {
	return []handmade{
		race(tb), foreignDelete(tb), foreignRenewal(tb), renewalFailed(tb), leaseOutlived(tb), serverLostKey(tb),
		clientClock(tb), noExpiry(tb), lateCommand(tb), orphanedKey(tb), readWrite(tb), quorum(tb), unclassified(tb),
		evicted(tb), nodeClock(tb), splitInTwo(tb), deadlocked(tb),
		fenceRegressed(tb), panicked(tb), runaway(tb), starved(tb),
	}
}

// race: two clients pass EXISTS before either has SET.
func race(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock, t.claims.Recovery = "exists-set", 0
	t.acquire(0, 10, 16)
	t.command(0, "n0", 10.5, "0", "EXISTS orders")
	t.command(0, "n0", 13, "OK", "SET orders 1")
	t.acquire(1, 11, 18)
	t.command(1, "n0", 11.4, "0", "EXISTS orders")
	t.command(1, "n0", 15, "OK", "SET orders 1")
	t.touch(0, history.FRead, 20, 4)
	t.touch(1, history.FRead, 22, 4)
	t.touch(0, history.FWrite, 60, 5)
	t.touch(1, history.FWrite, 70, 5)
	t.release(0, 110, 113, history.OK)
	t.command(0, "n0", 110.3, "1", "DEL orders")
	t.release(1, 120, 123, history.OK)
	t.command(1, "n0", 120.4, "0", "DEL orders")
	t.busy(2, 40, 43)
	t.command(2, "n0", 40.3, "1", "EXISTS orders")
	t.acquire(2, 140, 146)
	t.command(2, "n0", 140.3, "0", "EXISTS orders")
	t.command(2, "n0", 143, "OK", "SET orders 1")
	t.release(2, 240, 243, history.OK)
	t.command(2, "n0", 240.3, "1", "DEL orders")
	e := t.evidence()
	return t.trial("race", "exists-set", "none", locks.Bug, e,
		violated("exclusion", finding(e, checker.Race, 18, 110, "c1 acquired \"orders\" at 0.018 s while c0 had held it since 0.016 s: both had seen the key absent before either set it", 1, 0)),
		violated("resource", finding(e, checker.Race, 22, 71, "c1 wrote 5 at 0.071 s over c0's 5, which it had never read", 1, 0)),
		checker.Verdict{Oracle: "liveness", Result: checker.Held},
	)
}

// foreignDelete: a paused holder's plain DEL removes the next holder's key.
func foreignDelete(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock = "set-nx-ex"
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders 1 EX 1 NX")
	t.window(60, 1500, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: before(0, "release", "DEL"), Messages: 1}})
	t.busy(1, 200, 203)
	t.command(1, "n0", 200.4, "nil", "SET orders 1 EX 1 NX")
	t.busy(1, 700, 703)
	t.command(1, "n0", 700.4, "nil", "SET orders 1 EX 1 NX")
	t.acquire(1, 1200, 1203)
	t.command(1, "n0", 1200.4, "OK", "SET orders 1 EX 1 NX")
	t.release(0, 1502, 1506, history.OK)
	t.command(0, "n0", 1502.5, "1", "DEL orders")
	t.acquire(2, 1550, 1553)
	t.command(2, "n0", 1550.4, "OK", "SET orders 1 EX 1 NX")
	t.touch(1, history.FWrite, 1600, 3)
	t.touch(2, history.FWrite, 1620, 3)
	t.release(1, 1700, 1704, history.OK)
	t.command(1, "n0", 1700.5, "1", "DEL orders")
	t.release(2, 1760, 1764, history.OK)
	t.command(2, "n0", 1760.5, "0", "DEL orders")
	t.event(history.FHealed, 1800, nil)
	e := t.evidence()
	f := finding(e, checker.ForeignDelete, 1553, 1700, "c0's DEL at 1.504 s removed the key that c1 had set at 1.201 s, and c2 got in at 1.553 s", 2, 1)
	o := finding(e, checker.ForeignDelete, 1504, 1504, "c0's DEL removed c1's key", 0, 1)
	return t.trial("foreign-delete", "set-nx-ex", "client-pause", locks.Bug, e, violated("exclusion", f), violated("ownership", o))
}

// foreignRenewal: a watchdog without an owner check keeps a dead man's successor alive.
func foreignRenewal(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock, t.claims.Renews = "set-nx-px-watchdog", true
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.window(40, 1400, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: before(0, "hold", "")}})
	t.acquire(1, 1100, 1103)
	t.command(1, "n0", 1100.4, "OK", "SET orders token-b PX 1000 NX")
	t.command(0, "n0", 1401, "1", "EXPIRE orders 1")
	t.release(0, 1410, 1413, history.Fail)
	t.crash(1, 1450)
	t.busy(2, 2150, 2153)
	t.command(2, "n0", 2150.4, "nil", "SET orders token-c PX 1000 NX")
	t.acquire(2, 2450, 2453)
	t.command(2, "n0", 2450.4, "OK", "SET orders token-c PX 1000 NX")
	t.release(2, 2550, 2553, history.OK)
	e := t.evidence()
	return t.trial("foreign-renewal", "set-nx-px-watchdog", "client-pause", locks.Bug, e,
		violated("ownership", finding(e, checker.ForeignRenewal, 1402, 1402, "c0's EXPIRE at 1.402 s prolonged the key that c1 had set at 1.101 s", 0, 1)))
}

// renewalFailed: one lost reply ends the watchdog, the holder works on.
func renewalFailed(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock, t.claims.Renews = "set-nx-px-watchdog", true
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.command(0, "n0", 343, "1", "EXPIRE orders 1")
	t.window(676, 690, history.Window{Fault: "lost-reply", Effect: history.ReplyLost, Links: link("c0", "n0", history.Downstream), Hits: 1, Impact: &history.Impact{At: before(0, "hold", "EXPIRE"), Messages: 1}})
	c := t.command(0, "n0", 676, "1", "EXPIRE orders 1")
	c.Replied = 0
	t.busy(1, 1000, 1003)
	t.acquire(1, 1700, 1703)
	t.command(1, "n0", 1700.4, "OK", "SET orders token-b PX 1000 NX")
	t.touch(0, history.FWrite, 1750, 2)
	t.touch(1, history.FWrite, 1780, 2)
	t.release(1, 1800, 1803, history.OK)
	t.release(0, 1900, 1903, history.Fail)
	e := t.evidence()
	return t.trial("renewal-failed", "set-nx-px-watchdog", "lost-reply", locks.Bug, e,
		violated("exclusion", finding(e, checker.RenewalFailed, 1703, 1800, "c1 acquired at 1.703 s while c0 had held since 0.013 s: c0's watchdog stopped at 0.676 s", 1, 0)))
}

// leaseOutlived: the standard lock's holder is paused beyond its lease.
func leaseOutlived(tb testing.TB) handmade {
	t := newTape(tb)
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.touch(0, history.FRead, 15, 7)
	t.window(60, 1560, history.Window{Fault: "client-pause", Effect: history.Paused, Clients: []int{0}, Hits: 1, Impact: &history.Impact{At: before(0, "touch", "")}})
	for _, at := range []float64{120, 320, 520, 720, 920} {
		t.busy(1, at, at+3)
		t.command(1, "n0", at+0.4, "nil", "SET orders token-b PX 1000 NX")
	}
	t.acquire(1, 1120, 1123)
	t.command(1, "n0", 1120.4, "OK", "SET orders token-b PX 1000 NX")
	t.touch(1, history.FRead, 1125, 7)
	t.touch(1, history.FWrite, 1180, 8)
	t.release(1, 1223, 1226, history.OK)
	t.command(1, "n0", 1223.4, "1", "EVALSHA "+t.script("compare-and-delete")+" 1 orders token-b")
	t.acquire(2, 1300, 1303)
	t.command(2, "n0", 1300.4, "OK", "SET orders token-c PX 1000 NX")
	t.touch(2, history.FRead, 1305, 8)
	t.touch(0, history.FWrite, 1561, 8)
	t.release(0, 1562, 1565, history.Fail)
	t.command(0, "n0", 1562.4, "0", "EVALSHA "+t.script("compare-and-delete")+" 1 orders token-a")
	t.release(2, 1640, 1643, history.OK)
	t.command(2, "n0", 1640.4, "1", "EVALSHA "+t.script("compare-and-delete")+" 1 orders token-c")
	t.event(history.FHealed, 3000, nil)
	e := t.evidence()
	return t.trial("lease-outlived", "set-nx-px", "client-pause", locks.Limit, e,
		violated("exclusion",
			finding(e, checker.LeaseOutlived, 1123, 1223, "c1 acquired \"orders\" at 1.123 s while c0 had believed in its hold since 0.013 s; c0's key expired on n0 at 1.011 s", 1, 0),
			finding(e, checker.LeaseOutlived, 1303, 1562, "c2 acquired at 1.303 s while c0 still believed in its hold", 2, 0)),
		violated("resource", finding(e, checker.LeaseOutlived, 1180, 1562, "c0 wrote 8 at 1.562 s over c1's 8, which it had never read", 0, 1)),
		checker.Verdict{Oracle: "ownership", Result: checker.Held},
		checker.Verdict{Oracle: "liveness", Result: checker.Held},
		checker.Verdict{Oracle: "reentrancy", Result: checker.NotApplicable, Why: "the recipe is not reentrant"},
	)
}

// serverLostKey: a failover forgets an acknowledged grant.
func serverLostKey(tb testing.TB) handmade {
	t := newTape(tb)
	t.window(100, 420, history.Window{Fault: "failover", Effect: history.Promoted, Nodes: []string{"n1"}, Hits: 3, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n1", Key: "orders", Fate: history.FateLost}}, Handover: &history.Handover{From: "n0", To: "n1", How: history.PrimaryKilled, At: ms(419)}}})
	t.acquire(0, 150, 153)
	t.command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.event(history.FNodeDown, 250, func(o *history.Op) { o.Node = "n0" })
	t.event(history.FPromote, 300, func(o *history.Op) { o.Node = "n1" })
	t.unknown(2, history.FAcquire, 230, 255)
	t.acquire(1, 400, 403)
	t.command(1, "n1", 400.4, "OK", "SET orders token-b PX 1000 NX")
	t.touch(1, history.FWrite, 430, 2)
	t.release(0, 500, 503, history.Fail)
	t.release(1, 520, 523, history.OK)
	t.event(history.FHealed, 600, nil)
	e := t.evidence()
	return t.trial("server-lost-key", "set-nx-px", "failover", locks.Limit, e,
		violated("exclusion", finding(e, checker.ServerLostKey, 403, 500, "c1 acquired on n1 at 0.403 s while c0 had held since 0.153 s by a key that n0 had acknowledged and n1 never had", 1, 0)))
}

// clientClock: a client whose clock is ahead takes a live lock over.
func clientClock(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock, t.claims.ClientClock = "getset", true
	t.event(history.FClock, 5, func(o *history.Op) { o.Client, o.Offset = 1, ms(5000) })
	t.window(5, 900, history.Window{Fault: "client-skew", Effect: history.ClockSet, Clients: []int{1}, Hits: 1, Impact: &history.Impact{Offset: 5 * time.Second, Attempts: 1}})
	t.acquire(0, 10, 16)
	t.command(0, "n0", 10.4, "1", "SETNX orders 2013")
	t.command(0, "n0", 13, "1", "EXPIRE orders 1")
	t.acquire(1, 100, 112)
	t.command(1, "n0", 100.4, "0", "SETNX orders 7100")
	t.command(1, "n0", 103, `"2013"`, "GET orders")
	t.command(1, "n0", 106, `"2013"`, "GETSET orders 7100")
	t.command(1, "n0", 109, "1", "EXPIRE orders 1")
	t.touch(1, history.FWrite, 130, 2)
	t.touch(0, history.FWrite, 150, 2)
	t.release(0, 200, 203, history.OK)
	t.command(0, "n0", 200.4, "1", "DEL orders")
	t.release(1, 220, 223, history.OK)
	t.command(1, "n0", 220.4, "0", "DEL orders")
	e := t.evidence()
	return t.trial("client-clock", "getset", "client-skew", locks.Bug, e,
		violated("exclusion", finding(e, checker.ClientClock, 112, 200, "c1, whose clock was 5 s ahead, took the lock over at 0.112 s while c0 had held it since 0.016 s", 1, 0)))
}

// noExpiry: a crash between SETNX and EXPIRE blocks everybody for ever.
func noExpiry(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock = "setnx-expire"
	t.op(0, history.FAcquire, 50, -1, "", nil)
	t.command(0, "n0", 50.4, "1", "SETNX orders 1").Replied = 0
	t.window(51.5, 52, history.Window{Fault: "client-crash", Effect: history.Crashed, Clients: []int{0}, Hits: 1})
	t.crash(0, 51.6)
	for _, at := range []float64{100, 600, 1100, 1600, 2100} {
		t.busy(1, at, at+3)
		t.command(1, "n0", at+0.4, "0", "SETNX orders 1")
		t.busy(2, at+50, at+53)
		t.command(2, "n0", at+50.4, "0", "SETNX orders 1")
	}
	t.event(history.FHealed, 1000, nil)
	t.event(history.FKeys, 2500, func(o *history.Op) {
		o.Node, o.Keys = "n0", []history.KeyState{{Key: "orders", Type: "string", TTL: -1, Value: "1"}}
	})
	e := t.evidence()
	f := finding(e, checker.NoExpiry, 51.6, 2500, "nobody got in after c0 crashed at 0.052 s: n0 still had \"orders\" without a TTL at 2.5 s", 0, 1, 2)
	f.Forever = true
	return t.trial("no-expiry", "setnx-expire", "client-crash", locks.Bug, e, violated("liveness", f))
}

// lateCommand: a held DEL arrives after its client has given up, and removes
// the next holder's key.
func lateCommand(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock = "lua-setnx-expire"
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders 1 PX 1000 NX")
	t.window(100, 1300, history.Window{Fault: "delay", Effect: history.Delayed, Links: link("c0", "n0", history.Upstream), Hits: 1, Impact: &history.Impact{Messages: 1}})
	t.unknown(0, history.FRelease, 110, 410)
	c := t.command(0, "n0", 110.4, "1", "DEL orders")
	c.Arrived, c.Served, c.Replied = ms(1300.5), ms(1301), 0
	t.acquire(1, 1050, 1053)
	t.command(1, "n0", 1050.4, "OK", "SET orders 1 PX 1000 NX")
	t.acquire(2, 1320, 1323)
	t.command(2, "n0", 1320.4, "OK", "SET orders 1 PX 1000 NX")
	t.release(1, 1400, 1403, history.OK)
	t.command(1, "n0", 1400.4, "1", "DEL orders")
	t.release(2, 1420, 1423, history.OK)
	t.command(2, "n0", 1420.4, "0", "DEL orders")
	e := t.evidence()
	f := finding(e, checker.LateCommand, 1323, 1400, "c0's DEL, sent at 0.11 s and given up at 0.41 s, removed c1's key at 1.301 s, and c2 got in at 1.323 s", 2, 1)
	return t.trial("late-command", "lua-setnx-expire", "delay", locks.Bug, e, violated("exclusion", f))
}

// orphanedKey: a crashed holder's key keeps others out until it expires.
func orphanedKey(tb testing.TB) handmade {
	t := newTape(tb)
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.window(60, 61, history.Window{Fault: "client-crash", Effect: history.Crashed, Clients: []int{0}, Hits: 1})
	t.crash(0, 60.5)
	for _, at := range []float64{120, 320, 520, 720, 920} {
		t.busy(1, at, at+3)
		t.command(1, "n0", at+0.4, "nil", "SET orders token-b PX 1000 NX")
	}
	t.acquire(1, 1120, 1123)
	t.command(1, "n0", 1120.4, "OK", "SET orders token-b PX 1000 NX")
	t.release(1, 1223, 1226, history.OK)
	e := t.evidence()
	f := finding(e, checker.OrphanedKey, 60.5, 1123, "c0 crashed at 0.061 s; its key kept the others out until 1.123 s", 0, 1)
	return t.trial("orphaned-key", "set-nx-px", "client-crash", locks.Limit, e, violated("liveness", f))
}

// readWrite: the first reader to leave lets a writer in beside the second.
func readWrite(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock, t.claims.ReadWrite = "rw-two-keys", true
	t.acquireMode(0, history.Read, 10, 14)
	t.command(0, "n0", 10.4, "0", "EXISTS orders:write")
	t.command(0, "n0", 12, "OK", "SET orders:read 1 EX 1")
	t.acquireMode(1, history.Read, 20, 24)
	t.command(1, "n0", 20.4, "0", "EXISTS orders:write")
	t.command(1, "n0", 22, "OK", "SET orders:read 1 EX 1")
	t.releaseMode(0, history.Read, 60, 63)
	t.command(0, "n0", 60.4, "1", "DEL orders:read")
	t.acquireMode(2, history.Write, 80, 84)
	t.command(2, "n0", 80.4, "0", "EXISTS orders:read")
	t.command(2, "n0", 82, "OK", "SET orders:write 1 EX 1 NX")
	t.touch(2, history.FWrite, 90, 3, 4)
	t.touch(1, history.FRead, 95, 3, 4)
	t.releaseMode(1, history.Read, 124, 127)
	t.command(1, "n0", 124.4, "0", "DEL orders:read")
	t.releaseMode(2, history.Write, 184, 187)
	t.command(2, "n0", 184.4, "1", "DEL orders:write")
	e := t.evidence()
	f := finding(e, checker.ForeignDelete, 84, 124, "c2 acquired to write at 0.084 s while c1 had been reading since 0.024 s: c0's DEL at 0.061 s removed the key that both readers shared", 2, 1)
	out := t.trial("read-write", "rw-two-keys", "none", locks.Bug, e, violated("exclusion", f))
	out.Workload = "read-write"
	return out
}

// quorum: five nodes, a naive RedLock whose keys end under its holder.
func quorum(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock, t.claims.Quorum = "redlock-naive", 3
	nodes := []string{"n0", "n1", "n2", "n3", "n4"}
	t.acquire(0, 10, 16)
	for i, n := range nodes {
		t.command(0, n, 10.4+float64(i)/10, "OK", "SET orders token-a PX 1000 NX")
	}
	t.window(20, 1400, history.Window{Fault: "node-pause", Effect: history.Paused, Nodes: []string{"n3"}, Hits: 2, Impact: &history.Impact{Commands: 2}})
	t.window(30, 1300, history.Window{Fault: "partition", Effect: history.Cut, Links: slices.Concat(link("c0", "n0", ""), link("c0", "n1", "")), Hits: 4, Impact: &history.Impact{Messages: 4}})
	t.acquire(1, 1050, 1056)
	for i, n := range nodes[:4] {
		c := t.command(1, n, 1050.4+float64(i)/10, "OK", "SET orders token-b PX 1000 NX")
		if n == "n3" {
			c.Served, c.Replied = ms(1400.5), 0
		}
	}
	t.release(1, 1156, 1160, history.OK)
	for i, n := range nodes[:3] {
		t.command(1, n, 1156.4+float64(i)/10, "1", "DEL orders")
	}
	t.op(0, history.FLost, 1310, -1, "", nil)
	t.ops[len(t.ops)-1].Type = history.Info
	t.release(0, 1320, 1324, history.OK)
	e := t.evidence()
	f := finding(e, checker.LeaseOutlived, 1056, 1156, "c1 had a quorum at 1.056 s while c0 had held since 0.016 s", 1, 0)
	out := t.trial("quorum", "redlock-naive", "chaos", locks.Bug, e, violated("exclusion", f))
	out.Topology, out.Nodes = testbed.Independent, 5
	return out
}

// unclassified: a violation without an explanation, which no recipe declares.
func unclassified(tb testing.TB) handmade {
	t := newTape(tb)
	t.acquire(0, 10, 13)
	t.acquire(1, 30, 33)
	t.release(0, 60, 63, history.OK)
	t.release(1, 70, 73, history.OK)
	e := t.evidence()
	return t.trial("unclassified", "set-nx-px", "none", "", e,
		violated("exclusion", finding(e, checker.Unclassified, 33, 60, "c0 and c1 both held \"orders\" from 0.033 s to 0.06 s", 1, 0)))
}
