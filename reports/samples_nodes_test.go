package reports

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// evicted: memory pressure takes a held key.
func evicted(tb testing.TB) handmade {
	t := newTape(tb)
	t.acquire(0, 150, 153)
	t.command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.window(200, 201, history.Window{Fault: "eviction", Effect: history.Evicted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n0", Key: "orders", Fate: history.FateEvicted}}}})
	t.event(history.FEvict, 200.5, func(o *history.Op) {
		o.Node, o.Keys = "n0", []history.KeyState{{Key: "orders", Type: "string", TTL: ms(950)}}
	})
	t.acquire(1, 230, 233)
	t.command(1, "n0", 230.4, "OK", "SET orders token-b PX 1000 NX")
	t.touch(1, history.FWrite, 250, 2)
	t.release(0, 260, 263, history.Fail)
	t.command(0, "n0", 260.4, "0", "EVALSHA "+t.script("compare-and-delete")+" 1 orders token-a")
	t.release(1, 330, 333, history.OK)
	t.command(1, "n0", 330.4, "1", "DEL orders")
	e := t.evidence()
	return t.trial("evicted", "set-nx-px", "eviction", locks.Limit, e,
		violated("exclusion", finding(e, checker.ServerLostKey, 233, 260, "c1 acquired at 0.233 s while c0 had held since 0.153 s by a key that n0 evicted", 1, 0)))
}

// nodeClock: a node's clock jumps forward by more than a lease, then back.
func nodeClock(tb testing.TB) handmade {
	t := newTape(tb)
	t.window(195, 700, history.Window{Fault: "node-clock", Effect: history.ClockSet, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Shifted: 1}})
	t.acquire(0, 150, 153)
	t.command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.event(history.FNodeClock, 200, func(o *history.Op) { o.Node, o.Offset = "n0", ms(5000) })
	t.acquire(1, 230, 233)
	t.command(1, "n0", 230.4, "OK", "SET orders token-b PX 1000 NX")
	t.touch(1, history.FWrite, 250, 2)
	t.release(0, 260, 263, history.Fail)
	t.command(0, "n0", 260.4, "0", "EVALSHA "+t.script("compare-and-delete")+" 1 orders token-a")
	t.release(1, 330, 333, history.OK)
	t.command(1, "n0", 330.4, "1", "DEL orders")
	t.event(history.FNodeClock, 700, func(o *history.Op) { o.Node = "n0" })
	e := t.evidence()
	return t.trial("node-clock", "set-nx-px", "node-clock", locks.Limit, e,
		violated("exclusion", finding(e, checker.ServerClock, 233, 260, "c1 acquired at 0.233 s while c0 had held since 0.153 s: n0's clock had jumped 5 s ahead meanwhile", 1, 0)))
}

// splitInTwo: two primaries grant the lock, each to its own clients.
func splitInTwo(tb testing.TB) handmade {
	t := newTape(tb)
	t.window(95, 600, history.Window{Fault: "split-brain", Effect: history.Parted, Nodes: []string{"n1"}, Hits: 2, Impact: &history.Impact{Writes: 2}})
	t.event(history.FSplit, 100, func(o *history.Op) { o.Node, o.Client = "n1", 1 })
	t.event(history.FSplit, 100.1, func(o *history.Op) { o.Node, o.Client = "n1", 2 })
	t.acquire(0, 150, 153)
	t.command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.acquire(1, 180, 183)
	t.command(1, "n1", 180.4, "OK", "SET orders token-b PX 1000 NX")
	t.touch(0, history.FWrite, 220, 2)
	t.touch(1, history.FWrite, 240, 2)
	t.release(1, 280, 283, history.OK)
	t.command(1, "n1", 280.4, "1", "DEL orders")
	t.event(history.FPromote, 600, func(o *history.Op) { o.Node = "n1" })
	t.release(0, 640, 643, history.Fail)
	t.command(0, "n1", 640.4, "0", "DEL orders")
	e := t.evidence()
	out := t.trial("split-brain", "set-nx-px", "split-brain", locks.Limit, e,
		violated("exclusion", finding(e, checker.ServerLostKey, 183, 280, "c1 acquired on n1 at 0.183 s while c0 had held since 0.153 s by a key of n0", 1, 0)))
	out.Topology = testbed.Replicated
	return out
}

// deadlocked: a client without a timeout waits for a reply that was dropped.
func deadlocked(tb testing.TB) handmade {
	t := newTape(tb)
	t.claims.Lock = "redisson"
	t.window(60, 61, history.Window{Fault: "lost-reply", Effect: history.ReplyLost, Links: link("c0", "n0", history.Downstream), Hits: 1, Impact: &history.Impact{Messages: 1}})
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.op(0, history.FRelease, 60, -1, "", nil)
	t.command(0, "n0", 60.4, "1", "DEL orders").Replied = 0
	t.acquire(1, 120, 123)
	t.command(1, "n0", 120.4, "OK", "SET orders token-b PX 1000 NX")
	t.release(1, 220, 223, history.OK)
	t.command(1, "n0", 220.4, "1", "DEL orders")
	t.event(history.FDeadlock, 900, func(o *history.Op) { o.Error = "c0 waits for the reply to DEL" })
	e := t.evidence()
	return t.trial("deadlock", "redisson", "lost-reply", locks.Bug, e,
		violated("conduct", finding(e, checker.Cause("deadlock"), 900, 900, "everything waited from 0.9 s on: c0 for the reply to DEL", 0)))
}
