package reporttest

import (
	"fmt"
	"testing"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Causes returns the names of all causes that the checker knows.
func Causes() []string {
	var all []string
	for _, c := range checker.Causes() {
		all = append(all, string(c))
	}
	return all
}

// fenceRegressed: a restart resets the counter of the fencing tokens.
func fenceRegressed(tb testing.TB) Trial {
	t := NewTapeOf(tb, "fenced")
	fenced := func(client int, at float64, fence int64) {
		t.Op(client, history.FAcquire, at, at+3, history.OK, func(o *history.Op) {
			o.Lease = &history.Lease{Token: "token-" + string(rune('a'+client)), Fence: fence}
		})
		t.Command(client, "n0", at+0.4, fmt.Sprint(fence), fmt.Sprintf("EVALSHA %s 2 orders {orders}:fence token-%c 1000", t.Script("set-and-count"), 'a'+client))
	}
	given := func(client int, at float64) {
		t.Release(client, at, at+3, history.OK)
		t.Command(client, "n0", at+0.4, "1", fmt.Sprintf("EVALSHA %s 1 orders token-%c", t.Script("compare-and-delete"), 'a'+client))
	}
	fenced(0, 10, 1)
	given(0, 30)
	fenced(0, 60, 2)
	given(0, 110)
	t.Window(150, 190, history.Window{Fault: "node-restart", Effect: history.Restarted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n0", Key: "{orders}:fence", Fate: history.FateLost}}}})
	t.Event(history.FNodeDown, 151, func(o *history.Op) { o.Node = "n0" })
	t.Event(history.FNodeUp, 189, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Keys: true, Scripts: true} })
	fenced(1, 300, 1)
	given(1, 400)
	e := t.Evidence()
	f := Finding(e, checker.FenceRegressed, 303, 303, "c1 was granted orders with fence 1 at 0.303 s, after c0 had been granted it with fence 2 at 0.063 s", 1, 0)
	f.Broken = "n0 lost what it had acknowledged when it restarted at 0.189 s"
	return t.Trial("fence-regressed", "fenced", "node-restart", locks.Limit, e, Violated("fencing", f))
}

// starved: two clients take turns with the lock; the third always asks too late.
func starved(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Event(history.FHealed, 5, nil)
	for i := range 8 {
		at, c := 10+400*float64(i), i%2
		t.Acquire(c, at, at+3)
		t.Command(c, "n0", at+0.4, "OK", fmt.Sprintf("SET orders token-%c PX 1000 NX", 'a'+c))
		t.Busy(2, at+50, at+53)
		t.Command(2, "n0", at+50.4, "nil", "SET orders token-c PX 1000 NX")
		t.Release(c, at+300, at+303, history.OK)
		t.Command(c, "n0", at+300.4, "1", fmt.Sprintf("EVALSHA %s 1 orders token-%c", t.Script("compare-and-delete"), 'a'+c))
	}
	e := t.Evidence()
	return t.Trial("starved", "home-made", "none", "", e,
		Violated("liveness", Finding(e, checker.Starved, 5, 3113, "c2 never got into orders from 0.005 s on: others were granted it 8 times meanwhile, and it was free for 0.7 s of 3.1 s", 2)))
}

// panicked: an unexpected reply makes the code under test panic.
func panicked(tb testing.TB) Trial {
	t := NewTape(tb)
	t.Acquire(0, 10, 13)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Window(50, 90, history.Window{Fault: "node-restart", Effect: history.Restarted, Nodes: []string{"n0"}, Hits: 1, Impact: &history.Impact{Keys: []history.KeyFate{{Node: "n0", Key: "orders", Fate: history.FateLost}}}})
	t.Event(history.FNodeDown, 51, func(o *history.Op) { o.Node = "n0" })
	t.Event(history.FNodeUp, 89, func(o *history.Op) { o.Node, o.Lost = "n0", &history.Lost{Keys: true} })
	t.Op(0, history.FRelease, 110, -1, "", nil)
	t.Command(0, "n0", 110.4, "nil", "GET orders")
	t.Event(history.FPanic, 113, func(o *history.Op) { o.Error = "runtime error: index out of range [0] with length 0" })
	e := t.Evidence()
	return t.Trial("panic", "home-made", "node-restart", "", e,
		Violated("conduct", Finding(e, checker.Panic, 113, 113, "the code under test panicked at 0.113 s: runtime error: index out of range [0] with length 0", 0)))
}

// runaway: the code under test repeats a renewal without a pause.
func runaway(tb testing.TB) Trial {
	t := NewTape(tb)
	t.claims.Renews = true
	t.Acquire(0, 10, 13)
	t.Command(0, "n0", 10.4, "OK", "SET orders token-a PX 1000 NX")
	t.Window(300, 1900, history.Window{Fault: "partition", Effect: history.Cut, Links: Link("c0", "n0", ""), Hits: 40, Impact: &history.Impact{Messages: 40}})
	for at := 343.0; at < 360; at++ {
		c := t.Command(0, "n0", at, "", "EXPIRE orders 1")
		c.Arrived, c.Served, c.Replied = 0, 0, 0
	}
	t.Event(history.FRunaway, 900, func(o *history.Op) { o.Error = "more than 200000 commands" })
	e := t.Evidence()
	return t.Trial("runaway", "home-made", "partition", "", e,
		Violated("conduct", Finding(e, checker.Runaway, 900, 900, "the code under test did not come to an end: more than 200000 commands by 0.9 s, the last EXPIRE of c0", 0)))
}
