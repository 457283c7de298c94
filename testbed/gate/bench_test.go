package gate

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// okay is a connection in memory to a node that answers HELLO with an error and every other command
// with OK. The node runs on a goroutine of its own, as the simulation's nodes do.
type okay struct {
	net.Conn                   // nil: the gate calls only methods that okay defines
	replies  chan resp.Message // the reply to each request
	ended    chan struct{}
	once     sync.Once

	mu    sync.Mutex
	ready sync.Cond
	in    []byte
	err   error
}

var fine, unknown = resp.Message("+OK\r\n"), resp.Message("-ERR unknown command\r\n")

func newOkay() *okay {
	o := &okay{replies: make(chan resp.Message, 1024), ended: make(chan struct{})}
	o.ready.L = &o.mu
	return o
}

func (o *okay) serve(reply func(resp.Message)) {
	for {
		select {
		case m := <-o.replies:
			reply(m)
		case <-o.ended:
			return
		}
	}
}

func (o *okay) put(m resp.Message) {
	o.mu.Lock()
	o.in = append(o.in, m...)
	o.mu.Unlock()
	o.ready.Signal()
}

func (o *okay) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("hello")) {
		o.replies <- unknown
	} else {
		o.replies <- fine
	}
	return len(p), nil
}

func (o *okay) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.in) == 0 && o.err == nil {
		o.ready.Wait()
	}
	n := copy(p, o.in)
	o.in = append(o.in[:0], o.in[n:]...)
	if n > 0 {
		return n, nil
	}
	return 0, o.err
}

func (o *okay) Close() error {
	o.once.Do(func() {
		close(o.ended)
		o.mu.Lock()
		o.err = net.ErrClosed
		o.mu.Unlock()
		o.ready.Signal()
	})
	return nil
}

func (o *okay) SetDeadline(time.Time) error      { return nil }
func (o *okay) SetReadDeadline(time.Time) error  { return nil }
func (o *okay) SetWriteDeadline(time.Time) error { return nil }
func (o *okay) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (o *okay) LocalAddr() net.Addr              { return &net.TCPAddr{} }

// pushing is an in-memory connection like okay, but implements Pusher: it calls deliver with each
// reply, so that the gate does not call Read.
type pushing struct{ *okay }

func (p pushing) OnMessage(deliver func(resp.Message, error)) {
	go p.serve(func(m resp.Message) { deliver(m, nil) })
}

// benchGate returns a function that dials an okay through a new gate. The gate's commands are
// discarded.
func benchGate(b *testing.B, pushes bool) func(context.Context) (net.Conn, error) {
	start := time.Now()
	g := New(Options{
		Clients: 1, Clock: func() time.Duration { return time.Since(start) },
		Commands: func(history.Command) {},
	})
	b.Cleanup(func() { g.Close(); g.Flush() })
	return func(ctx context.Context) (net.Conn, error) {
		return g.Dial(ctx, 0, "n0", func(context.Context, *Conn) (net.Conn, error) {
			o := newOkay()
			if pushes {
				return pushing{o}, nil
			}
			go o.serve(o.put)
			return o, nil
		})
	}
}

// BenchmarkGateBubble measures a thousand commands under the conditions of a simulated trial: in
// a bubble, through go-redis, with Number called around every event of the node, and with an
// armed point that is never reached.
func BenchmarkGateBubble(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		synctest.Test(new(testing.T), func(*testing.T) { bubbleOf(b, 1000) })
	}
}

func bubbleOf(b *testing.B, commands int) {
	start := time.Now()
	g := New(Options{
		Clients: 1, Clock: func() time.Duration { return time.Since(start) },
		Commands: func(history.Command) {}, Ordered: true, Stagger: stagger,
	})
	client := redis.NewClient(benchOptions(func(ctx context.Context) (net.Conn, error) {
		return g.Dial(ctx, 0, "n0", func(context.Context, *Conn) (net.Conn, error) {
			return numbering{pushing{newOkay()}, g}, nil
		})
	}))
	g.At(testbed.Point{Step: testbed.StepRead, N: 1, When: testbed.Replied}, func(testbed.Hit) {})
	for range commands {
		if err := client.Set(context.Background(), "lock-0", "0123456789abcdef", time.Second).Err(); err != nil {
			b.Fatal(err)
		}
	}
	client.Close()
	g.Close()
	g.Flush()
}

// numbering calls the gate's Number before and after every message.
type numbering struct {
	pushing
	gate *Gate
}

func (n numbering) OnMessage(deliver func(resp.Message, error)) {
	n.pushing.OnMessage(func(m resp.Message, err error) {
		n.gate.Number()
		deliver(m, err)
		n.gate.Number()
	})
}

func benchOptions(dial func(context.Context) (net.Conn, error)) *redis.Options {
	return &redis.Options{
		Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
		PipelinePoolSize: -1, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}
}

// benchWays maps a kind of connection to a function that returns a dialler: "bare" connects
// without a gate, "pumped" through a gate that reads replies, "pushed" through a gate that gets
// them from a Pusher.
var benchWays = map[string]func(*testing.B) func(context.Context) (net.Conn, error){
	"bare": func(*testing.B) func(context.Context) (net.Conn, error) {
		return func(context.Context) (net.Conn, error) {
			o := newOkay()
			go o.serve(o.put)
			return o, nil
		}
	},
	"pumped": func(b *testing.B) func(context.Context) (net.Conn, error) { return benchGate(b, false) },
	"pushed": func(b *testing.B) func(context.Context) (net.Conn, error) { return benchGate(b, true) },
}

// BenchmarkGate measures a command of a client that only writes and reads bytes. "bare" is the
// cost of the connection below the gate.
func BenchmarkGate(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(benchWays)) {
		way := benchWays[name]
		b.Run(name, func(b *testing.B) {
			conn, err := way(b)(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			command := []byte(wire("SET lock-0 0123456789abcdef NX PX 1000"))
			reply := make([]byte, len(fine))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conn.Write(command); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(conn, reply); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGateGoRedis measures a command that is sent through go-redis.
func BenchmarkGateGoRedis(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(benchWays)) {
		way := benchWays[name]
		b.Run(name, func(b *testing.B) {
			dial := way(b)
			client := redis.NewClient(benchOptions(dial))
			defer client.Close()
			b.ReportAllocs()
			for b.Loop() {
				if err := client.Set(b.Context(), "lock-0", "0123456789abcdef", time.Second).Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
