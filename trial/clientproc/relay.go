package clientproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// relay accepts the connections of a trial's client processes to nodes. It forwards each
// connection through the gate, as if the client had dialled the node: the client's bytes
// are sent when the gate lets them pass, and the node's bytes wait in the client's socket.
//
// To connect, a client writes the line "client address" and reads a line: "ok" and the
// connection's number, or the reason for the refusal. After each write the client waits
// until its bytes have passed the gate: so the reply timeout starts when the command is
// sent, however long the gate holds it.
type relay struct {
	net.Listener
	// dial makes the connection to the node on behalf of a client.
	dial func(ctx context.Context, client int, addr string) (net.Conn, error)

	ctx     context.Context
	cancel  context.CancelFunc
	serving sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool // both ends of every connection
	counts []*byteCount      // by the connection's number
}

// byteCount counts the bytes that have passed the gate on one connection.
type byteCount struct {
	mu     sync.Mutex
	change sync.Cond
	bytes  int64
	ended  bool
}

func (d *relay) newCount() (*byteCount, int) {
	p := new(byteCount)
	p.change.L = &p.mu
	d.mu.Lock()
	defer d.mu.Unlock()
	d.counts = append(d.counts, p)
	return p, len(d.counts) - 1
}

// await returns when the given number of bytes has passed the gate on the connection, or when no
// more bytes will pass.
func (d *relay) await(number int, bytes int64) {
	d.mu.Lock()
	if number < 0 || number >= len(d.counts) {
		d.mu.Unlock()
		return
	}
	p := d.counts[number]
	d.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.bytes < bytes && !p.ended {
		p.change.Wait()
	}
}

// Write implements io.Writer: it counts the bytes as passed.
func (p *byteCount) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += int64(len(b))
	p.change.Broadcast()
	return len(b), nil
}

func (p *byteCount) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.change.Broadcast()
}

func openRelay(dial func(context.Context, int, string) (net.Conn, error)) (*relay, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for client processes: %w", err)
	}
	return newRelay(l, dial), nil
}

func newRelay(l net.Listener, dial func(context.Context, int, string) (net.Conn, error)) *relay {
	d := &relay{Listener: l, dial: dial, open: map[net.Conn]bool{}}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.serving.Go(func() {
		for {
			c, err := testbed.Accept(l)
			if err != nil {
				return
			}
			d.serving.Go(func() { d.serve(c.(*net.TCPConn)) })
		}
	})
	return d
}

// close breaks all connections and returns when all are gone.
func (d *relay) close() error {
	d.cancel()
	err := d.Listener.Close()
	d.mu.Lock()
	d.closed = true
	var all []net.Conn
	for c := range d.open {
		all = append(all, c)
	}
	d.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
	d.serving.Wait()
	return err
}

// hold registers a connection, so that relay.close breaks it. The returned function closes the
// connection and removes it from the register.
func (d *relay) hold(c net.Conn) (release func()) {
	d.mu.Lock()
	d.open[c] = true
	closed := d.closed
	d.mu.Unlock()
	if closed {
		c.Close()
	}
	return func() {
		c.Close()
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.open, c)
	}
}

// serve forwards one connection until both sides have ended.
func (d *relay) serve(near *net.TCPConn) {
	defer d.hold(near)()
	far, err := d.connect(near)
	if err != nil {
		_, _ = fmt.Fprintf(near, "%s\n", refusal(err)) // the client may be gone
		return
	}
	defer d.hold(far)()
	passed, number := d.newCount()
	defer passed.end()
	if _, err := fmt.Fprintf(near, "%s %d\n", welcome, number); err != nil {
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() {
		_, err := io.Copy(near, far)
		if err == nil { // the node closed the connection; the client's pool notices at the next use
			_ = near.CloseWrite()
			return
		}
		breakOff(near, err)
	})
	_, err = io.Copy(io.MultiWriter(far, passed), near)
	breakOff(near, err)
	far.Close()
	passed.end()
	answers.Wait()
}

// breakOff closes the client's side of a connection, with a reset if err is a reset.
func breakOff(near *net.TCPConn, err error) {
	if errors.Is(err, syscall.ECONNRESET) {
		_ = near.SetLinger(0)
	}
	near.Close()
}

// connect reads the client's request and dials on the client's behalf. It stops dialling if the
// client gives up.
func (d *relay) connect(near *net.TCPConn) (net.Conn, error) {
	line, err := readLine(near)
	if err != nil {
		return nil, err
	}
	var client int
	var addr string
	if _, err := fmt.Sscanf(line, "%d %s", &client, &addr); err != nil {
		return nil, fmt.Errorf("expected a client and an address, got %q", line)
	}
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		// The client sends nothing before it has an answer. So Read ends only when the client is gone,
		// or by the deadline that is set below.
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			cancel()
		}
	}()
	far, err := d.dial(ctx, client, addr)
	_ = near.SetReadDeadline(time.Unix(1, 0))
	<-watched
	_ = near.SetReadDeadline(time.Time{})
	return far, err
}

// lineLimit is the maximum length of a line: a request or its answer.
const lineLimit = 1024

// readLine reads a line, and not a byte beyond the newline.
func readLine(r io.Reader) (string, error) {
	var line strings.Builder
	for b := make([]byte, 1); line.Len() < lineLimit; line.WriteByte(b[0]) {
		if _, err := io.ReadFull(r, b); err != nil {
			return "", err
		}
		if b[0] == '\n' {
			return line.String(), nil
		}
	}
	return "", bufio.ErrTooLong
}

// Answers to a client: the connection is made, or nothing listens at the node's address.
const (
	welcome = "ok"
	refused = "refused"
)

func refusal(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return refused
	}
	text := "no connection: " + strings.ReplaceAll(err.Error(), "\n", " ")
	return text[:min(len(text), lineLimit-1)]
}

// dialRelay is the client's side: it connects to the node at addr through the relay, and returns
// the connection and its number.
func dialRelay(ctx context.Context, relay string, client int, addr string) (c *net.TCPConn, number int, err error) {
	dialled, err := new(net.Dialer).DialContext(ctx, "tcp4", relay)
	if err != nil {
		return nil, 0, err
	}
	c = dialled.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	answer, err := "", error(nil)
	if _, err = fmt.Fprintf(c, "%d %s\n", client, addr); err == nil {
		answer, err = readLine(c)
	}
	text, ok := strings.CutPrefix(answer, welcome+" ")
	switch {
	case !stop():
		err = ctx.Err()
	case err != nil: // the relay closed the connection, like a node that goes away
	case ok:
		if number, err = strconv.Atoi(text); err == nil {
			return c, number, nil
		}
	case answer == refused:
		err = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	default:
		err = errors.New(answer)
	}
	c.Close()
	return nil, 0, err
}
