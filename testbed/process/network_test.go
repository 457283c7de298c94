package process

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

var (
	single = testbed.Setup{Topology: testbed.Single}
	brief  = testbed.Setup{Topology: testbed.Single, CommandTimeout: hasty}
	c0n0   = testbed.Link{From: "c0", To: "n0"}
)

func TestACutLosesWhatGoesThatWay(t *testing.T) {
	for _, c := range []struct {
		direction testbed.Direction
		applied   bool
	}{
		{testbed.Upstream, false},
		{testbed.Downstream, true},
		{testbed.Both, false},
	} {
		t.Run(string(c.direction), func(t *testing.T) {
			defer goleak.VerifyNone(t)
			commands := run(t, brief, func(w *trial) {
				w.mustSet(0, "before", "1")
				undo := must(w.Cut(w.ctx, c0n0, c.direction))(w)
				if err := w.set(0, "k", "1"); err == nil {
					t.Error("SET during the cut: got no error")
				}
				w.mustSet(1, "other", "1") // another link
				if got := w.onNode("n0", "k") != ""; got != c.applied {
					t.Errorf("applied: got %t, want %t", got, c.applied)
				}
				w.undo(undo, 1)
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

func TestACutEndsOnlyConnectionsThatLostSomething(t *testing.T) {
	commands := run(t, single, func(w *trial) {
		undo := must(w.Cut(w.ctx, c0n0, testbed.Both))(w)
		w.undo(undo, 0)
		w.mustSet(0, "k", "1")
	})
	if set := named(commands, "SET")[0]; set.Conn > warmConnections {
		t.Errorf("after a cut that hit nothing: got a new connection, number %d", set.Conn)
	}
}

func TestACutEndsTheWaitForALostReply(t *testing.T) {
	run(t, single, func(w *trial) {
		undo := must(w.Cut(w.ctx, c0n0, testbed.Downstream))(w)
		sent := make(chan struct{})
		w.At(testbed.Point{N: 1, When: testbed.Sent}, func(testbed.Hit) { close(sent) })
		got := make(chan error, 1)
		go func() { got <- w.set(0, "k", "1") }()
		<-sent
		w.awaitServed(1)
		w.undo(undo, 1)
		if err := <-got; !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want %v", err, io.EOF)
		}
	})
}

func TestHeldRequestsArriveEvenIfTheClientHasGone(t *testing.T) {
	defer goleak.VerifyNone(t)
	commands := run(t, brief, func(w *trial) {
		undo := must(w.Hold(w.ctx, c0n0, testbed.Upstream))(w)
		for _, key := range []string{"a", "b"} {
			if err := w.set(0, key, "ghost"); err == nil {
				t.Errorf("SET %s: got no error", key)
			}
		}
		if got := w.onNode("n0", "a"); got != "" {
			t.Errorf("while held: got %q", got)
		}
		w.undo(undo, 2)
		w.awaitExec("SET", 2)
		for _, key := range []string{"a", "b"} {
			if got := w.onNode("n0", key); got != "ghost" {
				t.Errorf("%s after: got %q, want the ghost write", key, got)
			}
		}
		w.mustSet(0, "after", "1")
	})
	for _, s := range named(commands, "SET")[:2] {
		if !s.Ran() || s.Arrived-s.Sent < hasty || s.Replied > 0 {
			t.Errorf("got %+v, want it run late and not answered", s)
		}
	}
}

func TestHeldRepliesComeLate(t *testing.T) {
	commands := run(t, single, func(w *trial) {
		undo := must(w.Hold(w.ctx, c0n0, testbed.Downstream))(w)
		got := make(chan error, 1)
		go func() { got <- w.set(0, "k", "1") }()
		w.awaitServed(1)
		w.undo(undo, 1)
		if err := <-got; err != nil {
			t.Error(err)
		}
	})
	if s := named(commands, "SET")[0]; s.Replied == 0 {
		t.Errorf("got %+v, want it replied", s)
	}
}

func TestAResetReachesOldAndNewConnections(t *testing.T) {
	defer goleak.VerifyNone(t)
	run(t, single, func(w *trial) {
		hold := must(w.Hold(w.ctx, c0n0, testbed.Downstream))(w)
		got := make(chan error, 1)
		go func() { got <- w.set(0, "k", "1") }()
		w.awaitServed(1)
		undo := must(w.Reset(w.ctx, c0n0))(w)
		if err := <-got; !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("in flight: got %v, want %v", err, syscall.ECONNRESET)
		}
		w.undo(hold, 1)
		for range 2 { // the first may still get an old one
			if err := w.set(0, "new", "1"); err == nil {
				t.Error("on a new connection: got no error")
			}
		}
		if got := w.onNode("n0", "new"); got != "" {
			t.Errorf("on a new connection: got it applied")
		}
		if hits, err := undo(w.ctx); hits < warmConnections+1 || err != nil {
			t.Errorf("undo: got %d, %v, want the warm connections and the new one", hits, err)
		}
		w.mustSet(0, "after", "1")
	})
}

func TestAFaultSetAtAPointHitsExactlyThatCommand(t *testing.T) {
	commands := run(t, brief, func(w *trial) {
		w.step(0, "acquire")
		var undo testbed.Undo
		w.At(testbed.Point{Step: "acquire", Node: "n0", N: 2, When: testbed.Before}, func(testbed.Hit) {
			undo = must(w.Cut(w.ctx, c0n0, testbed.Downstream))(w)
		})
		w.mustSet(0, "a", "1")
		if err := w.set(0, "b", "1"); err == nil {
			t.Error("the second SET: got no error")
		}
		w.undo(undo, 1)
		w.mustSet(0, "c", "1")
	})
	var replied []bool
	for _, s := range named(commands, "SET") {
		replied = append(replied, s.Replied > 0)
	}
	if !slices.Equal(replied, []bool{true, false, true}) {
		t.Errorf("replied: got %v, want all but the second", replied)
	}
}

func TestUnknownLinksAreNamed(t *testing.T) {
	run(t, single, func(w *trial) {
		for _, l := range []testbed.Link{{From: "c7", To: "n0"}, {From: "c0", To: "n3"}, {From: "n1", To: "n0"}} {
			if _, err := w.Cut(w.ctx, l, testbed.Both); err == nil {
				t.Errorf("Cut %v: got no error", l)
			}
			if _, err := w.Reset(w.ctx, l); err == nil {
				t.Errorf("Reset %v: got no error", l)
			}
		}
		if _, err := w.Hold(w.ctx, c0n0, "sideways"); err == nil {
			t.Error("Hold sideways: got no error")
		}
	})
}

func TestTeardownDeliversNothingThatIsHeld(t *testing.T) {
	defer goleak.VerifyNone(t)
	commands := run(t, brief, func(w *trial) {
		must(w.Hold(w.ctx, c0n0, testbed.Both))(w)
		must(w.Cut(w.ctx, c0n0, testbed.Downstream))(w)
		if err := w.set(0, "k", "1"); err == nil {
			t.Error("got no error")
		}
		must(w.Pause(w.ctx, "n0"))(w)
	})
	if s := named(commands, "SET"); len(s) != 1 || s[0].Arrived > 0 {
		t.Errorf("got %+v, want one that never arrived", s)
	}
}

func TestACrashedClientsCommandsInFlightStay(t *testing.T) {
	commands := run(t, brief, func(w *trial) {
		w.step(0, "acquire")
		w.At(testbed.Point{Step: "acquire", N: 1, When: testbed.Sent}, func(testbed.Hit) {
			if err := w.CrashClient(0); err != nil {
				t.Error(err)
			}
		})
		if err := w.set(0, "k", "1"); err == nil {
			t.Error("SET of a crashed client: got no error")
		}
		if err := w.set(0, "later", "1"); err == nil {
			t.Error("SET after the crash: got no error")
		}
		w.awaitExec("SET", 1)
		if got := w.onNode("n0", "k"); got != "1" {
			t.Errorf("k: got %q, want what was in flight", got)
		}
		if err := w.Client(0).Step(w.ctx, "hold"); !errors.Is(err, testbed.ErrCrashed) {
			t.Errorf("Step: got %v, want %v", err, testbed.ErrCrashed)
		}
	})
	if s := named(commands, "SET"); len(s) != 1 || !s[0].Ran() || s[0].Replied > 0 {
		t.Errorf("got %+v, want the one that was in flight, run and not answered", s)
	}
}

func TestAPausedClientGoesOnAsIfNothingHadHappened(t *testing.T) {
	commands := run(t, brief, func(w *trial) {
		w.step(0, "acquire")
		paused := make(chan testbed.Undo, 1)
		w.At(testbed.Point{Step: "acquire", N: 1, When: testbed.Sent}, func(testbed.Hit) {
			paused <- must(w.PauseClient(0))(w)
		})
		got := make(chan error, 1)
		go func() { got <- w.set(0, "k", "1") }()
		undo := <-paused
		w.awaitServed(1)
		time.Sleep(2 * w.setup.CommandTimeout)
		select {
		case err := <-got:
			t.Errorf("during the pause: got %v", err)
		default:
		}
		if hits, err := undo(w.ctx); hits == 0 || err != nil {
			t.Errorf("undo: got %d, %v, want hits", hits, err)
		}
		if err := <-got; err != nil {
			t.Errorf("after a pause longer than the timeout: %v", err)
		}
	})
	if s := named(commands, "SET")[0]; s.Replied-s.Served < hasty {
		t.Errorf("replied %v after it was served, want the pause", s.Replied-s.Served)
	}
}

// awaitServed waits until that many commands that count were answered by their
// nodes, whoever got the answer.
func (w *trial) awaitServed(n int) {
	w.Helper()
	w.await(func(c history.Command) bool { return c.N > 0 && c.Served > 0 }, n)
}

// awaitExec waits until that many commands of a name ran.
func (w *trial) awaitExec(name string, n int) {
	w.Helper()
	w.await(func(c history.Command) bool { return testbed.CommandName(c.Args) == name && c.Served > 0 }, n)
}

func (w *trial) await(is func(history.Command) bool, n int) {
	w.Helper()
	for w.ctx.Err() == nil {
		found := 0
		w.mu.Lock()
		all := slices.Concat(w.commands, w.gate.Outstanding())
		w.mu.Unlock()
		for _, c := range all {
			if is(c) {
				found++
			}
		}
		if found >= n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	w.Fatalf("%d commands: %v", n, w.ctx.Err())
}

func TestWhatIsSentLaterOvertakesAHeldConnection(t *testing.T) {
	defer goleak.VerifyNone(t)
	commands := run(t, brief, func(w *trial) {
		w.mustSet(0, "k", "1")
		l := c0n0
		l.Conn = 1
		undo := must(w.Hold(w.ctx, l, testbed.Upstream))(w)
		held := 0
		for range 2 * warmConnections { // whichever connections the pool takes
			if err := w.set(0, "k", "late"); err != nil {
				held++
			}
		}
		if held != 1 {
			t.Fatalf("%d commands were held, want the one on the first connection", held)
		}
		w.mustSet(0, "k", "2")
		w.undo(undo, 1)
		w.awaitExec("SET", 2*warmConnections+2)
		if got := w.onNode("n0", "k"); got != "late" {
			t.Errorf("after: got %q, want what overtook it overwritten", got)
		}
	})
	var ghost, rival history.Command
	for _, c := range named(commands, "SET") {
		switch {
		case c.Conn == 1 && c.Args[2] == "late":
			ghost = c
		case c.Args[2] == "2":
			rival = c
		}
	}
	if ghost.Sent > rival.Sent || ghost.Exec <= rival.Exec {
		t.Errorf("got %+v and %+v, want the first sent to run last", ghost, rival)
	}
}
