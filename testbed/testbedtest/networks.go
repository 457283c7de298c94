package testbedtest

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

var networks = []promise{
	{name: "a cut loses what goes that way", test: cuts, own: true},
	{name: "a cut ends only connections that lost something", test: cutsOfNothing},
	{name: "a cut's end ends the wait for a lost reply", test: cutsEnd},
	{name: "held requests arrive even if the client has gone", test: heldRequests, own: true},
	{name: "held replies come late", test: heldReplies},
	{name: "what is sent later overtakes a held connection", test: heldConnection},
	{name: "a reset reaches old and new connections", test: resets, own: true},
	{name: "a reset of idle connections hits nobody", test: idleResets},
	{name: "a fault set at a point hits exactly that command", test: faultsAtPoints, own: true},
	{name: "a withdrawn point is not reached", test: withdrawnPoints},
	{name: "unknown links are errors", test: unknownLinks},
	{name: "teardown delivers nothing that is held", test: heldForEver, own: true},
	{name: "a replica that was cut off catches up", test: cutReplica, needs: testbed.CanNodes, own: true},
}

func cuts(s suite) {
	for _, c := range []struct {
		direction testbed.Direction
		applied   bool
	}{
		{testbed.Upstream, false},
		{testbed.Downstream, true},
		{testbed.Both, false},
	} {
		s.Run(string(c.direction), func(t *testing.T) {
			commands := suite{t, s.open}.run(brief, func(w *testEnv) {
				w.mustSet(0, "before", "1")
				cut := w.cut(c0n0, c.direction)
				w.mustNotSet(0, "k", "during the cut")
				w.mustSet(1, "other", "1") // another link
				if got := w.onNode("n0", "k") != ""; got != c.applied {
					w.Errorf("applied: got %t, want %t", got, c.applied)
				}
				cut.liftAfter(1)
				w.mustSet(0, "after", "1")
			})
			for _, s := range named(commands, "SET") {
				cut := s.Args[1] == "k"
				ran, answered := !cut || c.applied, !cut
				if s.Ran() != ran || s.Arrived > 0 != ran || s.Replied > 0 != answered {
					t.Errorf("got %+v, want ran %t, answered %t", s, ran, answered)
				}
			}
		})
	}
}

func cutsOfNothing(s suite) {
	commands := s.run(single, func(w *testEnv) {
		w.mustSet(0, "before", "1")
		w.cut(c0n0, testbed.Both).liftAfter(0)
		w.mustSet(0, "after", "1")
	})
	known := map[int]bool{} // connections that c0 used before the cut
	for _, c := range commands {
		if c.Client != 0 {
			continue
		}
		if len(c.Args) > 1 && c.Args[1] == "after" {
			if !known[c.Conn] {
				s.Errorf("after a cut that hit nothing: got a new connection, number %d", c.Conn)
			}
			return
		}
		known[c.Conn] = true
	}
}

func cutsEnd(s suite) {
	s.run(single, func(w *testEnv) {
		cut := w.cut(c0n0, testbed.Downstream)
		got := w.background("k")
		w.await("n0", "k", "1")
		cut.liftAfter(1)
		if err := <-got; !errors.Is(err, io.EOF) {
			w.Errorf("got %v, want %v", err, io.EOF)
		}
	})
}

func heldRequests(s suite) {
	commands := s.run(brief, func(w *testEnv) {
		hold := w.hold(c0n0, testbed.Upstream)
		w.mustNotSet(0, "a", "held")
		w.mustNotSet(0, "b", "held")
		w.check("n0", "a", "")
		hold.liftAfter(2)
		w.await("n0", "a", "1") // even though the client has gone
		w.await("n0", "b", "1")
		w.mustSet(0, "after", "1")
	})
	for _, c := range named(commands, "SET")[:2] {
		if !c.Ran() || c.Arrived-c.Sent < hasty || c.Replied > 0 {
			s.Errorf("got %+v, want it run late and not answered", c)
		}
	}
}

func heldReplies(s suite) {
	commands := s.run(single, func(w *testEnv) {
		hold := w.hold(c0n0, testbed.Downstream)
		got := w.background("k")
		w.await("n0", "k", "1")
		hold.liftAfter(1)
		w.must(<-got)
	})
	if c := named(commands, "SET")[0]; c.Replied-c.Served < hasty {
		s.Errorf("got %+v, want it replied late", c)
	}
}

func heldConnection(s suite) {
	const tries = 4 // more than the client has connections
	first := c0n0
	first.Conn = 1
	commands := s.run(brief, func(w *testEnv) {
		w.mustSet(0, "k", "1")
		hold := w.hold(first, testbed.Upstream)
		held := 0
		for range tries {
			if err := w.set(0, "k", "late"); err != nil {
				held++
			}
		}
		if held != 1 {
			w.Errorf("%d commands were held, want the one on the first connection", held)
		}
		w.mustSet(0, "k", "2")
		hold.liftAfter(1)
		w.await("n0", "k", "late") // the held SET overwrites the SET that overtook it
	})
	var ghost, rival history.Command
	for _, c := range named(commands, "SET") {
		switch {
		case c.Conn == first.Conn && c.Args[2] == "late":
			ghost = c
		case c.Args[2] == "2":
			rival = c
		}
	}
	if ghost.Sent > rival.Sent || ghost.Exec <= rival.Exec {
		s.Errorf("got %+v and %+v, want the first sent to run last", ghost, rival)
	}
}

func resets(s suite) {
	s.run(single, func(w *testEnv) {
		hold := w.hold(c0n0, testbed.Downstream)
		got := w.background("k")
		w.await("n0", "k", "1")
		reset := w.reset(c0n0)
		if err := <-got; !errors.Is(err, syscall.ECONNRESET) {
			w.Errorf("in flight: got %v, want %v", err, syscall.ECONNRESET)
		}
		hold.liftAfter(1)
		for range 5 { // the first SET may still get an old connection, and on a busy machine some get none in time
			w.mustNotSet(0, "new", "on a new connection")
		}
		w.check("n0", "new", "")
		if hits := reset.lift(); hits < 2 {
			w.Errorf("undo: got %d hits, want the one in flight and a new one", hits)
		}
		w.mustSet(0, "after", "1")
	})
}

func idleResets(s suite) {
	s.run(single, func(w *testEnv) {
		w.mustSet(0, "k", "1")
		reset := w.reset(c0n0)
		w.mustSet(1, "other", "1") // another link
		time.Sleep(hasty)
		reset.liftAfter(0)
		w.mustSet(0, "after", "1") // on a new connection
		reset = w.reset(c0n0)
		w.mustNotSet(0, "new", "on a connection that is reset")
		if hits := reset.lift(); hits == 0 {
			w.Error("reset of connections that were used: got no hits")
		}
	})
}

func faultsAtPoints(s suite) {
	commands := s.run(brief, func(w *testEnv) {
		w.step(0, "acquire")
		var cut fault
		w.At(testbed.Point{Step: "acquire", Node: "n0", N: 2, When: testbed.Before}, func(h testbed.Hit) {
			if got := string(h.Command.Args[1]); got != "b" || h.Time == 0 {
				w.Errorf("at the point: got %s at %v, want b", got, h.Time)
			}
			cut = w.cut(c0n0, testbed.Downstream)
		})
		w.mustSet(0, "a", "1")
		w.mustNotSet(0, "b", "at the point")
		cut.liftAfter(1)
		w.mustSet(0, "c", "1")
	})
	var replied []bool
	for _, c := range named(commands, "SET") {
		replied = append(replied, c.Replied > 0)
	}
	if !slices.Equal(replied, []bool{true, false, true}) {
		s.Errorf("replied: got %v, want all but the second", replied)
	}
}

func withdrawnPoints(s suite) {
	s.run(single, func(w *testEnv) {
		w.step(0, "acquire")
		cancel := w.At(testbed.Point{Step: "acquire", N: 1, When: testbed.Sent}, func(testbed.Hit) {
			w.Error("the point was reached")
		})
		cancel()
		w.mustSet(0, "k", "1")
	})
}

func unknownLinks(s suite) {
	s.run(single, func(w *testEnv) {
		for _, l := range []testbed.Link{{From: "c7", To: "n0"}, {From: "c0", To: "n3"}, n1n0} {
			if w.cut(l, testbed.Both).err == nil {
				w.Errorf("Cut %v: got no error", l)
			}
			if w.reset(l).err == nil {
				w.Errorf("Reset %v: got no error", l)
			}
		}
		if w.hold(c0n0, "sideways").err == nil {
			w.Error("Hold sideways: got no error")
		}
	})
}

func heldForEver(s suite) {
	commands := s.run(brief, func(w *testEnv) {
		w.must(w.hold(c0n0, testbed.Both).err)
		w.must(w.cut(c0n0, testbed.Downstream).err)
		w.mustNotSet(0, "k", "held")
		if w.Nodes != nil {
			w.must(w.pause("n0").err)
		}
	})
	if got := named(commands, "SET"); len(got) != 1 || got[0].Arrived > 0 {
		s.Errorf("got %+v, want one that never arrived", got)
	}
}

func cutReplica(s suite) {
	s.run(replicated, func(w *testEnv) {
		cut := w.cut(n1n0, testbed.Downstream)
		w.mustSet(0, "k", "1")
		w.inSync(1)
		w.check("n1", "k", "")
		cut.liftAfter(2) // the SETs of k and of inSync's key
		w.inSync(2)
		w.check("n1", "k", "1")
	})
}
