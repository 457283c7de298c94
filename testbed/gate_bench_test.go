package testbed

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstorm/lockstorm/history"
)

// okay is a connection in memory to a node that answers every command with OK,
// on a goroutine of its own, as a simulation's scheduler would.
type okay struct {
	net.Conn              // nil: what is not implemented is not called
	requests chan Message // a reply each
	ended    chan struct{}
	once     sync.Once

	mu    sync.Mutex
	ready sync.Cond
	in    []byte
	err   error
}

var fine, unknown = Message("+OK\r\n"), Message("-ERR unknown command\r\n")

func newOkay() *okay {
	o := &okay{requests: make(chan Message, 1024), ended: make(chan struct{})}
	o.ready.L = &o.mu
	return o
}

func (o *okay) serve(reply func(Message)) {
	for {
		select {
		case m := <-o.requests:
			reply(m)
		case <-o.ended:
			return
		}
	}
}

func (o *okay) put(m Message) {
	o.mu.Lock()
	o.in = append(o.in, m...)
	o.mu.Unlock()
	o.ready.Signal()
}

func (o *okay) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("hello")) {
		o.requests <- unknown
	} else {
		o.requests <- fine
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

// benchGate is a gate whose commands go nowhere, with one connection.
func benchGate(b *testing.B) (*Gate, func(context.Context) (net.Conn, error)) {
	start := time.Now()
	g := NewGate(GateOptions{
		Clients: 1, Clock: func() time.Duration { return time.Since(start) },
		Commands: func(history.Command) {},
	})
	b.Cleanup(func() { g.Close(); g.Flush() })
	return g, func(ctx context.Context) (net.Conn, error) {
		return g.Dial(ctx, 0, "n0", func(context.Context, *Conn) (net.Conn, error) {
			o := newOkay()
			go o.serve(o.put)
			return o, nil
		})
	}
}

// What a command costs a client that only writes and reads bytes: with the gate,
// and without, which is the price of the connection below it.
func BenchmarkGate(b *testing.B) {
	bare := newOkay()
	go bare.serve(bare.put)
	defer bare.Close()
	_, dial := benchGate(b)
	gated, err := dial(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		conn net.Conn
	}{{"without", bare}, {"pump", gated}} {
		b.Run(c.name, func(b *testing.B) {
			command := []byte(wire("SET lock-0 0123456789abcdef NX PX 1000"))
			r := bufio.NewReader(c.conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.conn.Write(command); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a command costs through go-redis.
func BenchmarkGateGoRedis(b *testing.B) {
	for _, gated := range []bool{false, true} {
		name := map[bool]string{false: "without", true: "pump"}[gated]
		b.Run(name, func(b *testing.B) {
			_, dial := benchGate(b)
			if !gated {
				dial = func(context.Context) (net.Conn, error) {
					o := newOkay()
					go o.serve(o.put)
					return o, nil
				}
			}
			client := redis.NewClient(&redis.Options{
				Addr: "127.0.0.1:1", Protocol: 2, DisableIdentity: true, MaxRetries: -1, ContextTimeoutEnabled: true,
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
				Dialer:                   func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			})
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
