package reporttest

import (
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Evicted: memory pressure evicts a held key.
func Evicted(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Acquire(0, 150, 153)
	t.Command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.Window(200, 201, history.Window{Fault: "eviction", Effect: history.Evicted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n0", Key: "orders", Fate: history.FateEvicted}}}})
	t.Event(history.FEvict, 200.5, func(o *history.Op) {
		o.Node, o.Keys = "n0", []history.KeyState{{Key: "orders", Type: "string", TTL: MS(950)}}
	})
	t.Acquire(1, 230, 233)
	t.Command(1, "n0", 230.4, "OK", "SET orders token-b PX 1000 NX")
	t.Touch(1, history.FWrite, 250, 2)
	t.Release(0, 260, 263, history.Fail)
	t.Command(0, "n0", 260.4, "0", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders token-a")
	t.Release(1, 330, 333, history.OK)
	t.Command(1, "n0", 330.4, "1", "DEL orders")
	e := t.Evidence()
	return t.Trial("evicted", "set-nx-px", "eviction", locks.Limit, e,
		Violated("exclusion", Finding(e, checker.ServerLostKey, 233, 260, "c1 acquired at 0.233 s while c0 had held since 0.153 s by a key that n0 evicted", 1, 0)))
}

// nodeClock: a node's clock jumps forward by more than a lease, then back.
func nodeClock(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Window(195, 700, history.Window{Fault: "node-clock", Effect: history.ClockSet, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Shifted: 1}})
	t.Acquire(0, 150, 153)
	t.Command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.Event(history.FNodeClock, 200, func(o *history.Op) { o.Node, o.Offset = "n0", MS(5000) })
	t.Acquire(1, 230, 233)
	t.Command(1, "n0", 230.4, "OK", "SET orders token-b PX 1000 NX")
	t.Touch(1, history.FWrite, 250, 2)
	t.Release(0, 260, 263, history.Fail)
	t.Command(0, "n0", 260.4, "0", "EVALSHA "+t.Script("compare-and-delete")+" 1 orders token-a")
	t.Release(1, 330, 333, history.OK)
	t.Command(1, "n0", 330.4, "1", "DEL orders")
	t.Event(history.FNodeClock, 700, func(o *history.Op) { o.Node = "n0" })
	e := t.Evidence()
	return t.Trial("node-clock", "set-nx-px", "node-clock", locks.Limit, e,
		Violated("exclusion", Finding(e, checker.ServerClock, 233, 260, "c1 acquired at 0.233 s while c0 had held since 0.153 s: n0's clock had jumped 5 s ahead meanwhile", 1, 0)))
}

// SplitInTwo: two primaries grant the lock, each to its own clients.
func SplitInTwo(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Window(95, 600, history.Window{Fault: "split-brain", Effect: history.Parted, Nodes: []string{"n1"}, Hits: 2, Impact: &history.Impact{Writes: 2}})
	t.Event(history.FSplit, 100, func(o *history.Op) { o.Node, o.Client = "n1", 1 })
	t.Event(history.FSplit, 100.1, func(o *history.Op) { o.Node, o.Client = "n1", 2 })
	t.Acquire(0, 150, 153)
	t.Command(0, "n0", 150.4, "OK", "SET orders token-a PX 1000 NX")
	t.Acquire(1, 180, 183)
	t.Command(1, "n1", 180.4, "OK", "SET orders token-b PX 1000 NX")
	t.Touch(0, history.FWrite, 220, 2)
	t.Touch(1, history.FWrite, 240, 2)
	t.Release(1, 280, 283, history.OK)
	t.Command(1, "n1", 280.4, "1", "DEL orders")
	t.Event(history.FPromote, 600, func(o *history.Op) { o.Node = "n1" })
	t.Release(0, 640, 643, history.Fail)
	t.Command(0, "n1", 640.4, "0", "DEL orders")
	e := t.Evidence()
	out := t.Trial("split-brain", "set-nx-px", "split-brain", locks.Limit, e,
		Violated("exclusion", Finding(e, checker.ServerLostKey, 183, 280, "c1 acquired on n1 at 0.183 s while c0 had held since 0.153 s by a key of n0", 1, 0)))
	out.Topology = testbed.Replicated
	return out
}

// deadlocked: a client without a timeout waits for a reply that was dropped.
func deadlocked(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Lock = "redisson"
	t.Window(60, 61, history.Window{Fault: "lost-reply", Effect: history.ReplyLost, Links: Link("c0", "n0", history.Downstream), Hits: 1, Impact: &history.Impact{Messages: 1}})
	t.Acquire(0, 10, 13)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Op(0, history.FRelease, 60, -1, "", nil)
	t.Command(0, "n0", 60.4, "1", "DEL orders").Replied = 0
	t.Acquire(1, 120, 123)
	t.Command(1, "n0", 120.4, "OK", "SET orders token-b PX 1000 NX")
	t.Release(1, 220, 223, history.OK)
	t.Command(1, "n0", 220.4, "1", "DEL orders")
	t.Event(history.FDeadlock, 900, func(o *history.Op) { o.Error = "c0 waits for the reply to DEL" })
	e := t.Evidence()
	return t.Trial("deadlock", "redisson", "lost-reply", locks.Bug, e,
		Violated("conduct", Finding(e, checker.Cause("deadlock"), 900, 900, "everything waited from 0.9 s on: c0 for the reply to DEL", 0)))
}
