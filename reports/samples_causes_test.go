package reports

import (
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// fenceRegressed: a restart sets the counter of the fencing tokens back.
func fenceRegressed() sampleTrial {
	t := newTape()
	t.claims.Lock, t.claims.Fenced = "fenced", true
	fenced := func(client int, start, done float64, fence int64) {
		t.op(client, history.FAcquire, start, done, history.OK, func(o *history.Op) {
			o.Lease = &history.Lease{Token: "token-" + string(rune('a'+client)), Fence: fence}
		})
	}
	fenced(0, 10, 13, 7)
	t.command(0, "n0", 10.4, "7", "EVALSHA "+fencedScript+" 2 orders orders:fence token-a 1000")
	t.release(0, 110, 113, history.OK)
	t.window(150, 190, history.Window{Fault: "node-restart", Effect: history.Restarted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n0", Key: "orders:fence", Fate: history.FateLost}}}})
	t.event(history.FNodeDown, 151, func(o *history.Op) { o.Node = "n0" })
	t.event(history.FNodeUp, 189, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Keys: true, Scripts: true} })
	fenced(1, 300, 303, 1)
	t.command(1, "n0", 300.4, "1", "EVALSHA "+fencedScript+" 2 orders orders:fence token-b 1000")
	t.release(1, 400, 403, history.OK)
	t.claims.Scripts = []history.Script{{Name: "take-and-count", SHA1: fencedScript, Effects: map[string][]history.Effect{
		"*": {{Kind: history.EffectSet, TTLArg: 2, TTLUnit: ms(1)}},
	}}}
	e := t.evidence()
	f := finding(e, checker.FenceRegressed, 303, 303, "c1 was granted orders with fence 1 at 0.303 s, after c0 had been granted it with fence 7 at 0.013 s", 1, 0)
	f.Broken = "n0 lost what it had acknowledged when it restarted at 0.189 s"
	return sampleTrial{"fence-regressed", t.trial("fenced", "node-restart", locks.Limit, e, violated("fencing", f)), e}
}

const fencedScript = "1111111111111111111111111111111111111111"

// panicked: a reply that nobody expected ends the program.
func panicked() sampleTrial {
	t := newTape()
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.window(50, 90, history.Window{Fault: "node-restart", Effect: history.Restarted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n0", Key: "orders", Fate: history.FateLost}}}})
	t.event(history.FNodeDown, 51, func(o *history.Op) { o.Node = "n0" })
	t.event(history.FNodeUp, 89, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Keys: true} })
	t.op(0, history.FRelease, 110, -1, "", nil)
	t.command(0, "n0", 110.4, "nil", "GET orders")
	t.event(history.FPanic, 113, func(o *history.Op) { o.Error = "runtime error: index out of range [0] with length 0" })
	e := t.evidence()
	return sampleTrial{"panic", t.trial("home-made", "node-restart", "", e,
		violated("conduct", finding(e, checker.Panic, 113, 113, "the code under test panicked at 0.113 s: runtime error: index out of range [0] with length 0", 0))), e}
}

// runaway: a renewal that is tried again without a pause.
func runaway() sampleTrial {
	t := newTape()
	t.claims.Renews = true
	t.acquire(0, 10, 13)
	t.command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.window(300, 1900, history.Window{Fault: "partition", Effect: history.Cut, Links: link("c0", "n0", ""), Hits: 40, Impact: &history.Impact{Messages: 40}})
	for at := 343.0; at < 360; at++ {
		c := t.command(0, "n0", at, "", "EXPIRE orders 1")
		c.Arrived, c.Served, c.Replied = 0, 0, 0
	}
	t.event(history.FRunaway, 900, func(o *history.Op) { o.Error = "more than 200000 commands" })
	e := t.evidence()
	return sampleTrial{"runaway", t.trial("home-made", "partition", "", e,
		violated("conduct", finding(e, checker.Runaway, 900, 900, "the code under test did not come to an end: more than 200000 commands by 0.9 s, the last EXPIRE of c0", 0))), e}
}
