package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

func TestAPausedClientSendsAndReceivesNothing(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		w.step("acquire")
		undo, err := w.gate.PauseClient(0)
		if err != nil {
			t.Fatal(err)
		}
		var trace []string
		go func() {
			w.step("hold")
			trace = append(trace, "step")
			w.do("SET k v")
			trace = append(trace, "reply")
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := w.seen(); len(trace) > 0 || len(got) > 0 {
			t.Errorf("while paused: got %v and %q at the node", trace, got)
		}
		if hits, err := undo(w.t.Context()); hits != 1 || err != nil {
			t.Errorf("undo: got %d, %v, want the one step that waited", hits, err)
		}
		synctest.Wait()
		if got, want := trace, []string{"step", "reply"}; !slices.Equal(got, want) {
			t.Errorf("after resume: got %v, want %v", got, want)
		}
		if hits, _ := undo(w.t.Context()); hits != 1 {
			t.Errorf("undo again: got %d, want 1", hits)
		}
	})
}

func TestAReplyThatComesDuringAPauseOutlastsTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		answer bool
		want   error
		after  time.Duration // the time of the result, counted from the resume
	}{
		"reply there":     {true, nil, 0},
		"reply not there": {false, os.ErrDeadlineExceeded, 2 * time.Second}, // the rest of the deadline
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, false, func(w *gated) {
				w.step("acquire")
				w.conn.SetDeadline(time.Now().Add(3 * time.Second))
				go resp.Read(resp.NewReader(w.node))
				if _, err := io.WriteString(w.conn, wire("SET k v")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				undo, _ := w.gate.PauseClient(0)
				if c.answer {
					go io.WriteString(w.node, "+OK\r\n")
				}
				got := make(chan error)
				go func() { got <- replies(w.conn, 1) }()
				time.Sleep(time.Hour)
				resumed := time.Now()
				undo(w.t.Context())
				if err := <-got; !errors.Is(err, c.want) {
					t.Errorf("got %v, want %v", err, c.want)
				}
				if after := time.Since(resumed); after != c.after {
					t.Errorf("got it %v after the resume, want %v", after, c.after)
				}
			})
		})
	}
}

func TestWhatAPointDoesToItsClientTakesEffectAtOnce(t *testing.T) {
	const pauseFor = time.Minute
	for name, c := range map[string]struct {
		point   testbed.Point
		crash   bool
		arrived int
		replied bool
	}{
		"paused at the step":     {point: testbed.Point{Step: "acquire"}},
		"paused before":          {point: testbed.Point{N: 1, When: testbed.Before}},
		"paused when sent":       {point: testbed.Point{N: 1, When: testbed.Sent}, arrived: 1},
		"paused with the reply":  {point: testbed.Point{N: 1, When: testbed.Replied}, arrived: 1},
		"crashed at the step":    {point: testbed.Point{Step: "acquire"}, crash: true},
		"crashed before":         {point: testbed.Point{N: 1, When: testbed.Before}, crash: true},
		"crashed when sent":      {point: testbed.Point{N: 1, When: testbed.Sent}, crash: true, arrived: 1},
		"crashed with the reply": {point: testbed.Point{N: 1, When: testbed.Replied}, crash: true, arrived: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, true, func(w *gated) {
				var undo testbed.Undo
				w.gate.At(c.point, func(testbed.Hit) {
					if c.crash {
						if err := w.gate.CrashClient(0); err != nil {
							t.Error(err)
						}
						return
					}
					undo, _ = w.gate.PauseClient(0)
				})
				done := make(chan error, 1)
				go func() {
					err := w.gate.Step(w.t.Context(), 0, "acquire")
					if err == nil {
						err = exchange(w.conn, "SET k v")
					}
					done <- err
				}()
				time.Sleep(pauseFor)
				synctest.Wait()
				if got := len(w.seen()); got != c.arrived {
					t.Errorf("got %d commands at the node, want %d", got, c.arrived)
				}
				if c.crash {
					w.gate.Close()
					if err := <-done; err == nil {
						t.Error("the crashed client got an answer")
					}
					return
				}
				if hits, _ := undo(w.t.Context()); hits == 0 {
					t.Error("the pause held nothing")
				}
				if err := <-done; err != nil {
					t.Errorf("after resume: %v", err)
				}
			})
		})
	}
}

func TestNothingLeavesOrReachesACrashedClient(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		w.do("PING")
		if err := w.gate.CrashClient(0); err != nil {
			t.Fatal(err)
		}
		if err := w.gate.Step(w.t.Context(), 0, "hold"); !errors.Is(err, testbed.ErrCrashed) {
			t.Errorf("Step: got %v, want %v", err, testbed.ErrCrashed)
		}
		began := time.Now()
		w.conn.SetDeadline(began.Add(time.Second))
		if err := exchange(w.conn, "SET k v"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("SET: got %v, want %v", err, os.ErrDeadlineExceeded)
		}
		if got := time.Since(began); got != time.Second {
			t.Errorf("SET ended after %v, want its deadline", got)
		}
		w.conn.Close()
		if _, err := w.node.Write([]byte("+OK\r\n")); err != nil {
			t.Errorf("the node sees the connection closed: %v", err)
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		_, err := w.gate.Dial(ctx, 0, "n0", func(context.Context, *Conn) (net.Conn, error) {
			t.Error("a crashed client dials")
			return nil, errors.New("dialled")
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial: got %v, want %v", err, context.DeadlineExceeded)
		}
		if got, want := w.seen(), []string{"PING"}; !slices.Equal(got, want) {
			t.Errorf("at the node: got %q, want %q", got, want)
		}
		if err := w.gate.Step(w.t.Context(), 1, "hold"); err != nil {
			t.Errorf("the other client: %v", err)
		}
	})
}

// The code of a crashed client must not keep a trial from ending, whatever the code waits for.
func TestTheWaitsOfACrashedClientEndWithoutDeadlines(t *testing.T) {
	for name, wait := range map[string]func(w *gated) error{
		"write": func(w *gated) error {
			_, err := io.WriteString(w.conn, wire("SET k v"))
			return err
		},
		"read":                   func(w *gated) error { return replies(w.conn, 1) },
		"read without deadlines": func(w *gated) error { return errors.Join(w.conn.SetDeadline(time.Time{}), replies(w.conn, 1)) },
		"dial": func(w *gated) error {
			_, err := w.gate.Dial(context.WithoutCancel(w.t.Context()), 0, "n0", func(context.Context, *Conn) (net.Conn, error) {
				return nil, errors.New("dialled")
			})
			return err
		},
	} {
		for _, before := range []bool{false, true} { // for "read": whether the wait begins before the crash
			t.Run(fmt.Sprintf("%s/%t", name, before), func(t *testing.T) {
				inBubble(t, true, func(w *gated) {
					w.do("PING")
					if before && name == "read" {
						time.AfterFunc(time.Second, func() { _ = w.gate.CrashClient(0) })
					} else if err := w.gate.CrashClient(0); err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					if err := wait(w); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
					}
					if took := time.Since(began); took < lastWait || took > lastWait+time.Second {
						t.Errorf("it took %v, want %v", took, lastWait)
					}
				})
			})
		}
	}
}

func TestWhatAPausedClientClosesIsClosedWhenItResumes(t *testing.T) {
	inBubble(t, false, func(w *gated) {
		undo, _ := w.gate.PauseClient(0)
		w.conn.Close()
		closed := make(chan struct{})
		go func() {
			w.node.Read(make([]byte, 1))
			close(closed)
		}()
		time.Sleep(time.Hour)
		select {
		case <-closed:
			t.Error("the node sees it closed during the pause")
		default:
		}
		undo(w.t.Context())
		<-closed
	})
}

// While a client is paused, Awake waits. That wait alone is no hit of the pause.
func TestAPausedClientNoticesNothing(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		awake := func() error { return w.gate.Awake(w.t.Context(), 0) }
		if err := awake(); err != nil {
			t.Errorf("before the pause: %v", err)
		}
		undo, err := w.gate.PauseClient(0)
		if err != nil {
			t.Fatal(err)
		}
		noticed := make(chan error, 1)
		go func() { noticed <- awake() }()
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(noticed) > 0 {
			t.Errorf("while paused: noticed with %v", <-noticed)
		}
		if hits, err := undo(w.t.Context()); hits != 0 || err != nil {
			t.Errorf("undo: got %d hits, %v, want none", hits, err)
		}
		if err := <-noticed; err != nil {
			t.Errorf("after resume: %v", err)
		}
		if err := w.gate.CrashClient(0); err != nil {
			t.Fatal(err)
		}
		if err := awake(); !errors.Is(err, testbed.ErrCrashed) {
			t.Errorf("after the crash: got %v, want %v", err, testbed.ErrCrashed)
		}
	})
}

func TestStepEndsWithItsContext(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		undo, _ := w.gate.PauseClient(0)
		defer undo(w.t.Context())
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		if err := w.gate.Step(ctx, 0, "hold"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

func TestWhatComesDuringAPauseIsReadInOrder(t *testing.T) {
	inBubble(t, false, func(w *gated) {
		go io.WriteString(w.conn, wire("SUBSCRIBE ch"))
		resp.Read(resp.NewReader(w.node))
		undo, _ := w.gate.PauseClient(0)
		want := wire("subscribe ch 1", "message ch a", "message ch b", "message ch c")
		time.AfterFunc(time.Hour, func() { undo(w.t.Context()) })
		go func() {
			for left := want; left != ""; left = left[1:] {
				io.WriteString(w.node, left[:1]) // blocks until the gate has read the byte
				time.Sleep(time.Second)
			}
			io.WriteString(w.node, "+late\r\n")
			w.node.Close()
		}()
		got, err := io.ReadAll(w.conn)
		if want += "+late\r\n"; string(got) != want || err != nil {
			t.Errorf("got %q, %v, want %q and the end", got, err, want)
		}
	})
}
