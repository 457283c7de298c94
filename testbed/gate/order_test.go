package gate

import (
	"context"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// crowd is an ordered gate in a bubble, with two clients. Each client has two connections to
// each of three nodes. All nodes answer at once.
type crowd struct {
	t      *testing.T
	pushes bool
	gate   *Gate
	conns  []*Conn // by client, node and number
	log    []history.Command

	mu    sync.Mutex
	trace []string
}

const crowdNodes = 3

// stagger implements Options.Stagger. The order of the results is not the order of the connections.
func stagger(client int, node string, conn int) time.Duration {
	at := 7
	if node != "" {
		at = int(node[1] - '0')
	}
	// Different arguments give different results. Small multiples of the results differ, too, so
	// that goroutines that sleep several times do not go on at one instant.
	return time.Duration(1000+(client*64+at*8+conn)*37%128) * 4
}

// inCrowd runs test several times, on one processor and on two, with connections that the gate
// reads and with Pushers. The crowd's log and trace must be the same after each run. inCrowd
// returns the crowd of the first run.
func inCrowd(t *testing.T, test func(*crowd)) *crowd {
	t.Helper()
	var first *crowd
	for run := range 40 {
		before := runtime.GOMAXPROCS(1 + run%2)
		c := newCrowd(t, run/2%2 == 1, test)
		runtime.GOMAXPROCS(before)
		switch {
		case first == nil:
			first = c
		case !reflect.DeepEqual(c.log, first.log):
			t.Fatalf("run %d: got another log:\n%s\nfirst\n%s", run, lines(c.log), lines(first.log))
		case !slices.Equal(c.trace, first.trace):
			t.Fatalf("run %d: got\n%v\nfirst\n%v", run, c.trace, first.trace)
		}
	}
	return first
}

func newCrowd(t *testing.T, pushes bool, test func(*crowd)) *crowd {
	c := &crowd{t: t, pushes: pushes}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		c.t = t
		c.gate = New(Options{
			Clients: 2, Ordered: true, Stagger: stagger,
			Clock:    func() time.Duration { return time.Since(start) + 1 },
			Commands: func(cmd history.Command) { c.log = append(c.log, cmd) },
		})
		for client := range 2 {
			for node := range crowdNodes {
				for range 2 {
					c.dial(client, fmt.Sprint("n", node))
				}
			}
		}
		test(c)
		c.gate.Close()
		c.gate.Flush()
	})
	return c
}

func (c *crowd) dial(client int, node string) {
	near, far := net.Pipe()
	if c.pushes {
		near = pushed{near}
	}
	conn, err := c.gate.Dial(c.t.Context(), client, node, func(context.Context, *Conn) (net.Conn, error) { return near, nil })
	if err != nil {
		c.t.Fatal(err)
	}
	c.conns = append(c.conns, conn)
	go func() {
		r := resp.NewReader(far)
		for {
			if _, err := resp.Read(r); err != nil {
				return
			}
			if _, err := io.WriteString(far, "+OK\r\n"); err != nil {
				return
			}
		}
	}()
}

func (c *crowd) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = append(c.trace, fmt.Sprintf(format, args...))
}

// all calls do for every connection at the same instant, each call in its own goroutine.
func (c *crowd) all(do func(i int, conn *Conn)) {
	var running sync.WaitGroup
	for i, conn := range c.conns {
		running.Go(func() { do(i, conn) })
	}
	running.Wait()
}

func lines(log []history.Command) string {
	var s string
	for _, c := range log {
		s += fmt.Sprintf("%+v\n", c)
	}
	return s
}

func TestOrderedCommandsAreNumberedByWhoSentThem(t *testing.T) {
	c := inCrowd(t, func(c *crowd) {
		c.gate.stagger = nil // so that all connections go on at one instant
		for range 5 {
			c.all(func(i int, conn *Conn) {
				if err := exchange(conn, "SET k v", "GET k"); err != nil {
					t.Error(err)
				}
			})
			if next, open := c.gate.Next(), c.gate.Outstanding(); next != len(c.log) || len(open) > 0 {
				t.Errorf("before Number: got next %d and outstanding %v, want %d and none", next, open, len(c.log))
			}
			time.Sleep(time.Millisecond)
			c.gate.Number()
		}
	})
	if got, want := len(c.log), 5*len(c.conns)*2; got != want {
		t.Fatalf("got %d commands, want %d", got, want)
	}
	for i, cmd := range c.log {
		conn := c.conns[i/2%len(c.conns)]
		want := history.Command{Client: conn.client.id, Node: conn.node, Conn: conn.number, Args: []history.Bytes{"SET", "k", "v"}}
		if i%2 == 1 {
			want.Args = []history.Bytes{"GET", "k"}
		}
		got := history.Command{Client: cmd.Client, Node: cmd.Node, Conn: cmd.Conn, Args: cmd.Args}
		if cmd.Index != i || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want number %d to be %+v", cmd, i, want)
		}
	}
}

func TestCommandsArePassedOnWhenTheyAreNumbered(t *testing.T) {
	newCrowd(t, true, func(c *crowd) {
		c.conns[0].Observe() // commands of this connection end only when the node's side says so
		for _, i := range []int{2, 0, 1} {
			if err := exchange(c.conns[i], "GET k"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		indices := func() (got []int) {
			for _, cmd := range c.log {
				got = append(got, cmd.Index)
			}
			return got
		}
		if got := indices(); got != nil {
			t.Errorf("before Number: got %v passed on, want none", got)
		}
		c.gate.Number()
		if got, want := indices(), []int{0, 2}; !slices.Equal(got, want) {
			t.Errorf("after Number: got %v, want %v", got, want)
		}
		if got := c.gate.Outstanding(); len(got) != 1 || got[0].Index != 1 {
			t.Errorf("outstanding: got %+v, want the one with index 1", got)
		}
		c.conns[0].Served(1, resp.Message("+OK\r\n"))
		c.gate.Number()
		if got, want := indices(), []int{0, 2, 1}; !slices.Equal(got, want) {
			t.Errorf("after it was served: got %v, want %v", got, want)
		}
	})
}

// Goroutines that are woken together must go on one by one, in the order of Stagger.
func TestAResumedClientGoesOnInAFixedOrder(t *testing.T) {
	c := inCrowd(t, func(c *crowd) {
		var undo []testbed.Undo
		pause := func() {
			for client := range 2 {
				u, err := c.gate.PauseClient(client)
				if err != nil {
					t.Fatal(err)
				}
				undo = append(undo, u)
			}
		}
		resume := func() {
			for _, u := range undo {
				u(c.t.Context())
			}
			undo = nil
		}
		pause()
		var running sync.WaitGroup
		running.Go(func() { c.all(c.talk) })
		running.Go(func() {
			c.gate.Step(c.t.Context(), 1, "acquire")
			c.note("step")
		})
		running.Go(func() {
			_, err := c.gate.Dial(c.t.Context(), 1, "n0", func(_ context.Context, conn *Conn) (net.Conn, error) {
				c.note("dial %d", conn.Number())
				return nil, io.EOF
			})
			c.note("%v", err)
		})
		time.Sleep(time.Second)
		resume()
		time.Sleep(50 * time.Nanosecond) // the woken goroutines still sleep for their staggers
		pause()
		time.Sleep(time.Second)
		resume()
		running.Wait()
		c.gate.Number()
	})
	if len(c.trace) != 2*len(c.conns)+3 {
		t.Errorf("got %v", c.trace)
	}
	for i, cmd := range c.log[1:] {
		if cmd.Sent <= c.log[i].Sent {
			t.Errorf("got two commands at one instant, or not in order: %+v and %+v", c.log[i], cmd)
		}
	}
}

// talk sends a command, and notes the results of sending it and of reading its reply.
func (c *crowd) talk(_ int, conn *Conn) {
	_, err := io.WriteString(conn, wire("SET k v"))
	c.note("c%d %s/%d sent: %v", conn.client.id, conn.node, conn.number, err)
	conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	err = replies(conn, 1)
	c.note("c%d %s/%d replied: %v", conn.client.id, conn.node, conn.number, err)
}

func TestOfManyAtOneInstantTheSameOneReachesThePoint(t *testing.T) {
	for _, when := range []testbed.When{testbed.Before, testbed.Sent, testbed.Replied} {
		t.Run(string(when), func(t *testing.T) {
			c := inCrowd(t, func(c *crowd) {
				for skip := range 2 {
					c.gate.At(testbed.Point{Client: 1, N: 1, When: when, Skip: skip}, func(h testbed.Hit) {
						synctest.Wait()
						c.note("%s/%d", h.Command.Node, h.Command.Conn)
						u, _ := c.gate.PauseClient(1)
						time.AfterFunc(time.Second, func() { u(c.t.Context()) })
					})
				}
				// Use only one connection of each client to each node: which of two connections
				// sends a client's first command would be random.
				c.all(func(i int, conn *Conn) {
					if i%2 == 0 {
						exchange(conn, "SET k v")
					}
				})
				c.gate.Number()
			})
			if len(c.trace) != 2 {
				t.Errorf("got hits %v, want two", c.trace)
			}
			if got := len(c.log); got != len(c.conns)/2 {
				t.Errorf("got %d commands, want %d", got, len(c.conns)/2)
			}
		})
	}
}

func TestWhatWaitsWhenTheGateClosesEndsInAFixedOrder(t *testing.T) {
	c := inCrowd(t, func(c *crowd) {
		undo, _ := c.gate.PauseClient(0)
		defer undo(c.t.Context())
		for i, conn := range c.conns {
			go func() {
				var err error
				if i%2 == 0 {
					_, err = conn.Read(make([]byte, 1))
				} else if i < len(c.conns)/2 {
					_, err = io.WriteString(conn, wire("GET k"))
				}
				c.note("c%d %s/%d: %v", conn.client.id, conn.node, conn.number, err)
			}()
		}
		synctest.Wait()
		c.mu.Lock()
		c.trace = nil
		c.mu.Unlock()
		c.gate.Close()
		time.Sleep(time.Millisecond)
	})
	if len(c.trace) == 0 {
		t.Error("nothing waited")
	}
}

// If several faults strike at one moment of one command, the fault with the greatest Turn strikes
// first, whatever the order in which they were set.
func TestAtOneMomentTheGreaterTurnComesFirst(t *testing.T) {
	inBubble(t, true, func(w *gated) {
		w.step("acquire")
		var order []int
		for _, turn := range []int{1, 3, 2} {
			w.gate.At(testbed.Point{N: 1, When: testbed.Before, Turn: turn}, func(testbed.Hit) { order = append(order, turn) })
		}
		exchange(w.conn, "SET k v")
		if want := []int{3, 2, 1}; !slices.Equal(order, want) {
			t.Errorf("got %v, want %v", order, want)
		}
	})
}
