package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// called implements testbed.Processes. It records the gate's calls.
type called struct {
	did    []string
	refuse error
}

func (c *called) note(what string, client int) error {
	c.did = append(c.did, fmt.Sprintf("%s c%d", what, client))
	return c.refuse
}

func (c *called) Freeze(client int) error           { return c.note("freeze", client) }
func (c *called) Thaw(client int) error             { return c.note("thaw", client) }
func (c *called) Kill(client int) error             { return c.note("kill", client) }
func (c *called) Skew(client int, by time.Duration) { _ = c.note("skew "+by.String(), client) }

// outside runs test with a client that has a process of its own.
func outside(t *testing.T, answer bool, test func(*gated, *called)) {
	t.Helper()
	inBubble(t, answer, func(w *gated) {
		p := new(called)
		w.gate.processes = p
		test(w, p)
	})
}

func TestWhatComesForAFrozenProcessIsThereWhenItGoesOn(t *testing.T) {
	outside(t, false, func(w *gated, p *called) {
		w.step("acquire")
		go resp.Read(resp.NewReader(w.node))
		if _, err := io.WriteString(w.conn, wire("SET k v")); err != nil {
			t.Fatal(err)
		}
		undo, err := w.gate.PauseClient(0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		go io.WriteString(w.node, "+OK\r\n")
		if err := replies(w.conn, 1); err != nil { // the gate lets the reply through to the process's socket
			t.Errorf("during the pause: %v", err)
		}
		w.node.Close() // the reply counts even if the connection then breaks
		time.Sleep(time.Hour)
		synctest.Wait()
		resumed := w.gate.clock()
		if hits, err := undo(w.t.Context()); hits != 1 || err != nil {
			t.Errorf("undo: got %d, %v, want the one reply that waited", hits, err)
		}
		if hits, err := undo(w.t.Context()); hits != 1 || err != nil {
			t.Errorf("undo again: got %d, %v, want 1", hits, err)
		}
		if c := w.commands; len(c) != 1 || c[0].Replied != resumed {
			t.Errorf("got %+v, want one that was replied at the resume, %v", c, resumed)
		}
		if want := []string{"freeze c0", "thaw c0"}; !slices.Equal(p.did, want) {
			t.Errorf("did %q, want %q", p.did, want)
		}
	})
}

func TestAFrozenProcessSendsNothing(t *testing.T) {
	outside(t, true, func(w *gated, p *called) {
		w.step("acquire")
		var undo testbed.Undo
		w.gate.At(testbed.Point{Client: 0, Step: "acquire", N: 1, When: testbed.Before}, func(testbed.Hit) {
			undo, _ = w.gate.PauseClient(0)
		})
		done := make(chan error, 1)
		go func() { done <- exchange(w.conn, "SET k v") }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := w.seen(); len(got) > 0 {
			t.Errorf("while frozen %q came to the node", got)
		}
		if hits, err := undo(w.t.Context()); hits != 1 || err != nil {
			t.Errorf("undo: got %d, %v, want the one command that waited", hits, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestAKilledProcessSendsNothingAndItsConnectionsEnd(t *testing.T) {
	outside(t, true, func(w *gated, p *called) {
		w.step("acquire")
		w.gate.At(testbed.Point{Client: 0, Step: "acquire", N: 1, When: testbed.Before}, func(testbed.Hit) {
			if err := w.gate.CrashClient(0); err != nil {
				t.Error(err)
			}
		})
		if err := exchange(w.conn, "SET k v"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want %v", err, net.ErrClosed)
		}
		w.conn.Close() // as the code that forwards the connection does
		if _, err := w.node.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the node's end: got %v, want %v", err, io.ErrClosedPipe)
		}
		if err := w.gate.Step(w.t.Context(), 0, "hold"); !errors.Is(err, testbed.ErrCrashed) {
			t.Errorf("step: got %v, want %v", err, testbed.ErrCrashed)
		}
		if _, err := w.gate.Dial(w.t.Context(), 0, "n0", nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial: got %v, want %v", err, net.ErrClosed)
		}
		if got := w.seen(); len(got) > 0 || !slices.Equal(p.did, []string{"kill c0"}) {
			t.Errorf("%q came to the node, the process: %q", got, p.did)
		}
	})
}

func TestAProcessThatCannotBeFrozenGoesOn(t *testing.T) {
	outside(t, true, func(w *gated, p *called) {
		p.refuse = errors.New("no such process")
		if _, err := w.gate.PauseClient(0); !errors.Is(err, p.refuse) {
			t.Errorf("got %v, want %v", err, p.refuse)
		}
		w.step("acquire")
		w.do("SET k v")
	})
}

func TestSkewReachesTheProcess(t *testing.T) {
	p := new(called)
	c := NewClient(context.Background(), New(Options{Clients: 1, Processes: p}), 1, 0)
	defer c.End()
	c.Skew(time.Minute)
	if want := []string{"skew 1m0s c0"}; !slices.Equal(p.did, want) {
		t.Errorf("did %q, want %q", p.did, want)
	}
}
