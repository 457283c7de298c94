package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gated is a gate with two clients. Client 0 is connected to a node that can answer every command
// with OK. gated records the commands that the gate reports and those that the node answers. All
// tests run in a bubble, where time is virtual.
type gated struct {
	t      *testing.T
	pushes bool
	gate   *Gate
	conn   *Conn
	node   net.Conn

	mu       sync.Mutex
	arrived  []string
	commands []history.Command
}

// inBubble runs test with a connected client: once with a connection that the gate reads, and
// once with a Pusher. If answer is false, the node does not answer; the test has to.
func inBubble(t *testing.T, answer bool, test func(*gated)) {
	t.Helper()
	for _, way := range []string{"read", "pushed"} {
		t.Run(way, func(t *testing.T) { inBubbleBy(way, t, answer, test) })
	}
}

// pushed is a Pusher made from a connection: it reads messages from the connection and passes them
// to deliver.
type pushed struct{ net.Conn }

func (p pushed) OnMessage(deliver func(resp.Message, error)) {
	go func() {
		r := resp.NewReader(p.Conn)
		for {
			m, err := resp.Read(r)
			deliver(m, err)
			clear(m) // deliver must not keep m
			if err != nil {
				return
			}
		}
	}()
}

func (p pushed) Read([]byte) (int, error) { panic("a Pusher is read") }

func inBubbleBy(way string, t *testing.T, answer bool, test func(*gated)) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := &gated{t: t, pushes: way == "pushed"}
		w.gate = New(Options{
			Clients:  2,
			Clock:    func() time.Duration { return time.Since(start) + 1 },
			Commands: func(c history.Command) { w.commands = append(w.commands, c) },
		})
		w.conn, w.node = w.dial(0, "n0")
		if answer {
			go w.answer(w.node)
		}
		test(w)
		w.gate.Close()
		w.node.Close()
		w.gate.Flush()
	})
}

func (w *gated) dial(client int, node string) (*Conn, net.Conn) {
	w.t.Helper()
	near, far := net.Pipe()
	if w.pushes {
		near = pushed{near}
	}
	c, err := w.gate.Dial(w.t.Context(), client, node, func(context.Context, *Conn) (net.Conn, error) { return near, nil })
	if err != nil {
		w.t.Fatal(err)
	}
	return c, far
}

// answer is the node's side of a connection: it answers every command.
func (w *gated) answer(c net.Conn) {
	r := resp.NewReader(c)
	for {
		m, err := resp.Read(r)
		if err != nil {
			return
		}
		w.mu.Lock()
		w.arrived = append(w.arrived, text(m))
		w.mu.Unlock()
		if _, err := io.WriteString(c, "+OK\r\n"); err != nil {
			return
		}
	}
}

func (w *gated) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.arrived)
}

func (w *gated) step(name string) {
	w.t.Helper()
	if err := w.gate.Step(w.t.Context(), 0, name); err != nil {
		w.t.Fatal(err)
	}
}

// do sends commands, one string each, in one write, and reads one reply for each.
func (w *gated) do(commands ...string) {
	w.t.Helper()
	if err := exchange(w.conn, commands...); err != nil {
		w.t.Fatal(err)
	}
}

func exchange(c net.Conn, commands ...string) error {
	if _, err := io.WriteString(c, wire(commands...)); err != nil {
		return err
	}
	return replies(c, len(commands))
}

func replies(c net.Conn, n int) error {
	r := bufio.NewReader(c)
	for range n {
		if _, err := resp.Read(r); err != nil {
			return err
		}
	}
	return nil
}

// wire encodes commands in RESP. Spaces separate the arguments of a command.
func wire(commands ...string) string {
	var b []byte
	for _, c := range commands {
		b = resp.AppendCommand(b, strings.Fields(c)...)
	}
	return string(b)
}

func text(m resp.Message) string {
	args, err := m.Args()
	if err != nil {
		return err.Error()
	}
	return words(args)
}

func words(args []history.Bytes) string {
	var s []string
	for _, a := range args {
		s = append(s, string(a))
	}
	return strings.Join(s, " ")
}

func TestCommandsAreCountedByStepAndNode(t *testing.T) {
	var w *gated
	inBubble(t, true, func(in *gated) {
		w = in
		other, far := w.dial(0, "n1")
		defer far.Close()
		go w.answer(far)
		w.do("PING")
		w.step("acquire")
		w.gate.Open(0, 7)
		w.do("EVALSHA sha 0")
		w.do("EVAL script 0")
		w.do("PING")
		if err := exchange(other, "SET k v"); err != nil {
			t.Fatal(err)
		}
		w.gate.Open(0, -1)
		w.step("hold")
		w.do("EXPIRE k 1", "HELLO 2", "GET k")
	})
	type row struct {
		Args, Node, Phase string
		N, Op, Index      int
	}
	var got []row
	for _, c := range w.commands {
		got = append(got, row{words(c.Args), c.Node, c.Phase, c.N, c.Op, c.Index})
		if c.Reply != "OK" || c.Sent == 0 || c.Replied < c.Sent || c.Conn != 1 {
			t.Errorf("got %+v, want it sent and replied with OK on connection 1", c)
		}
	}
	want := []row{
		{"PING", "n0", "", 0, -1, 0},
		{"EVALSHA sha 0", "n0", "acquire", 1, 7, 1},
		{"EVAL script 0", "n0", "acquire", 2, 7, 2},
		{"PING", "n0", "acquire", 0, 7, 3},
		{"SET k v", "n1", "acquire", 1, 7, 4},
		{"EXPIRE k 1", "n0", "hold", 1, -1, 5},
		{"HELLO 2", "n0", "hold", 0, -1, 6},
		{"GET k", "n0", "hold", 2, -1, 7},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
}

func TestPointsAreReachedWhereTheySay(t *testing.T) {
	// arrived lists the commands that had arrived at the node when the point was reached, and
	// replied is the number of replies that the client had read. The third command is PING.
	for name, c := range map[string]struct {
		point   testbed.Point
		arrived []string // nil = the point is never reached
		replied int
		hits    int
	}{
		"step's beginning":         {testbed.Point{Step: "acquire"}, []string{}, 0, 1},
		"any step's beginning":     {testbed.Point{}, []string{}, 0, 1},
		"before the first":         {testbed.Point{Step: "acquire", N: 1, When: testbed.Before}, []string{}, 0, 1},
		"sent first":               {testbed.Point{Step: "acquire", N: 1, When: testbed.Sent}, []string{"SET a 1"}, 0, 1},
		"replied first":            {testbed.Point{Step: "acquire", N: 1, When: testbed.Replied}, []string{"SET a 1"}, 0, 1},
		"before the second":        {testbed.Point{Step: "acquire", Node: "n0", N: 2, When: testbed.Before}, []string{"SET a 1"}, 1, 1},
		"replied second":           {testbed.Point{N: 2, When: testbed.Replied}, []string{"SET a 1", "GET a"}, 1, 1},
		"PING does not count":      {testbed.Point{N: 3, When: testbed.Before}, []string{"SET a 1", "GET a", "PING"}, 3, 1},
		"next step skipped to":     {testbed.Point{Skip: 1}, []string{"SET a 1", "GET a", "PING", "DEL a"}, 4, 1},
		"second of two matches":    {testbed.Point{N: 1, When: testbed.Sent, Skip: 1}, []string{"SET a 1", "GET a", "PING", "DEL a", "DEL b"}, 4, 1},
		"after its time":           {testbed.Point{N: 1, When: testbed.Before, After: time.Second}, []string{"SET a 1", "GET a", "PING", "DEL a"}, 4, 1},
		"other step":               {testbed.Point{Step: "extend", N: 1, When: testbed.Before}, nil, 0, 0},
		"other node":               {testbed.Point{Node: "n1", N: 1, When: testbed.Before}, nil, 0, 0},
		"other client":             {testbed.Point{Client: 1, N: 1, When: testbed.Before}, nil, 0, 0},
		"more than were ever sent": {testbed.Point{N: 9, When: testbed.Before}, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, true, func(w *gated) {
				var arrived []string
				hits, given := 0, 0
				replied := 0
				w.gate.At(c.point, func(h testbed.Hit) {
					synctest.Wait() // until the node has read all commands that were sent
					hits, arrived, replied = hits+1, w.seen(), given
					if h.Point != c.point || h.Time < c.point.After {
						t.Errorf("got hit %+v, want one of %+v", h, c.point)
					}
				})
				for _, cmd := range []string{"SET a 1", "GET a", "PING", "DEL a"} {
					if len(w.seen()) == 0 {
						w.step("acquire")
					}
					w.do(cmd)
					given++
				}
				time.Sleep(2 * time.Second)
				w.step("release")
				w.do("DEL b")
				if hits != c.hits || hits > 0 && !slices.Equal(arrived, c.arrived) || replied != c.replied {
					t.Errorf("got %d hits, arrived %q, %d replies given; want %d, %q, %d",
						hits, arrived, replied, c.hits, c.arrived, c.replied)
				}
			})
		})
	}
}

func TestPipelinedCommandsPassOneByOne(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		var mu sync.Mutex
		var trace []string
		w.step("acquire")
		for n := 1; n <= 2; n++ {
			for _, when := range []testbed.When{testbed.Before, testbed.Sent, testbed.Replied} {
				w.gate.At(testbed.Point{N: n, When: when}, func(testbed.Hit) {
					time.Sleep(time.Millisecond) // so that messages that are not held back get ahead
					mu.Lock()
					defer mu.Unlock()
					trace = append(trace, fmt.Sprint(when, n))
				})
			}
		}
		w.do("SET a 1", "SET b 2")
		for _, order := range [][]string{
			{"before1", "sent1", "replied1", "replied2"},
			{"sent1", "before2", "sent2", "replied2"},
		} {
			at := -1
			for _, event := range order {
				if i := slices.Index(trace, event); i <= at {
					t.Errorf("got %v, want %v in this order", trace, order)
				} else {
					at = i
				}
			}
		}
	})
}

func TestACommandLeavesWholeHoweverItIsWritten(t *testing.T) {
	for name, chunk := range map[string]int{"byte by byte": 1, "in sevens": 7, "at once": 1000} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, true, func(w *gated) {
				for rest := wire("SET k v", "GET k"); rest != ""; {
					n := min(chunk, len(rest))
					if got, err := io.WriteString(w.conn, rest[:n]); got != n || err != nil {
						t.Fatalf("Write: got %d, %v, want %d", got, err, n)
					}
					rest = rest[n:]
				}
				if err := replies(w.conn, 2); err != nil {
					t.Fatal(err)
				}
				if got, want := w.seen(), []string{"SET k v", "GET k"}; !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

func TestNotRESPIsRefused(t *testing.T) {
	for _, bad := range []string{"SET k v\r\n", "*1\r\n:1\r\n", "*-1\r\n", "*\r\n", "*1\r\n$-5\r\n", ":1\r\n", "*0\r\n"} {
		inBubble(t, true, func(w *gated) {
			if _, err := io.WriteString(w.conn, bad); !errors.Is(err, resp.ErrMalformed) {
				t.Errorf("%q: got %v, want %v", bad, err, resp.ErrMalformed)
			}
		})
	}
}

func TestAfterCancelTheFunctionDoesNotRun(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		w.step("acquire")
		w.gate.At(testbed.Point{N: 1, When: testbed.Before}, func(testbed.Hit) { t.Error("cancelled, yet it ran") })()

		running, ended := make(chan struct{}), false
		cancel := w.gate.At(testbed.Point{N: 1, When: testbed.Before}, func(testbed.Hit) {
			close(running)
			time.Sleep(time.Second)
			ended = true
		})
		go exchange(w.conn, "SET k v")
		<-running
		cancel()
		if !ended {
			t.Error("cancel returned while the function ran")
		}
		synctest.Wait()
	})
}

func TestAnIdleConnectionTellsThatItHasEnded(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		check := func() error {
			raw, err := w.conn.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			return raw.Read(func(uintptr) bool { t.Error("there is no descriptor"); return true })
		}
		w.do("PING")
		if err := check(); err != nil {
			t.Errorf("idle: got %v, want none", err)
		}
		w.node.Close()
		synctest.Wait()
		if err := check(); !errors.Is(err, io.EOF) {
			t.Errorf("closed by the node: got %v, want %v", err, io.EOF)
		}
	})
}
