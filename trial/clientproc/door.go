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

// door is where the connections of a trial's client processes begin that lead to
// nodes. What such a connection carries goes on through the gate, as if the client
// had dialled there: what the client writes is sent when the gate lets it, and what
// comes for it waits in its socket.
//
// A client that wants a connection writes a line, "client address", and reads one:
// "ok" and the connection's number, or why it has none. After each write it asks to
// be told when that has passed the gate, and only then goes on: the time for the
// reply begins when the command is sent, however long the gate holds it.
type door struct {
	net.Listener
	// dial makes the rest of a connection, in place of a client.
	dial func(ctx context.Context, client int, addr string) (net.Conn, error)

	ctx     context.Context
	cancel  context.CancelFunc
	serving sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	open     map[net.Conn]bool // both ends of every connection
	passages []*passage        // by number
}

// passage is what has passed the gate on one connection.
type passage struct {
	mu     sync.Mutex
	change sync.Cond
	bytes  int64
	ended  bool
}

// newPassage returns the next one and its number.
func (d *door) newPassage() (*passage, int) {
	p := new(passage)
	p.change.L = &p.mu
	d.mu.Lock()
	defer d.mu.Unlock()
	d.passages = append(d.passages, p)
	return p, len(d.passages) - 1
}

// await returns when that many bytes have passed the gate on that connection, or no
// more will.
func (d *door) await(number int, bytes int64) {
	d.mu.Lock()
	if number < 0 || number >= len(d.passages) {
		d.mu.Unlock()
		return
	}
	p := d.passages[number]
	d.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.bytes < bytes && !p.ended {
		p.change.Wait()
	}
}

// Write implements io.Writer: so much has passed.
func (p *passage) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += int64(len(b))
	p.change.Broadcast()
	return len(b), nil
}

func (p *passage) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.change.Broadcast()
}

func openDoor(dial func(context.Context, int, string) (net.Conn, error)) (*door, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for client processes: %w", err)
	}
	return newDoor(l, dial), nil
}

func newDoor(l net.Listener, dial func(context.Context, int, string) (net.Conn, error)) *door {
	d := &door{Listener: l, dial: dial, open: map[net.Conn]bool{}}
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

// close breaks all connections and returns when nothing is left of them.
func (d *door) close() error {
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

// hold makes close close the connection, until the returned function is called.
func (d *door) hold(c net.Conn) (release func()) {
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

// serve carries one connection until both sides have ended.
func (d *door) serve(near *net.TCPConn) {
	defer d.hold(near)()
	far, err := d.connect(near)
	if err != nil {
		_, _ = fmt.Fprintf(near, "%s\n", refusal(err)) // or it has gone
		return
	}
	defer d.hold(far)()
	passed, number := d.newPassage()
	defer passed.end()
	if _, err := fmt.Fprintf(near, "%s %d\n", welcome, number); err != nil {
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() {
		_, err := io.Copy(near, far)
		if err == nil { // the node's side has said all: a pooled connection finds out when it is used
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

// breakOff ends the client's side, as a reset if that is what ended the other one.
func breakOff(near *net.TCPConn, err error) {
	if errors.Is(err, syscall.ECONNRESET) {
		_ = near.SetLinger(0)
	}
	near.Close()
}

// connect reads what the client wants and dials in its place, until it gives up.
func (d *door) connect(near *net.TCPConn) (net.Conn, error) {
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
		// It says nothing before it has an answer.
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

// lineLimit is how long an address or an error may be.
const lineLimit = 1024

// readLine reads up to a newline, and nothing beyond.
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

// What a client is told when it has a connection, and of a node that is not there.
const (
	welcome = "ok"
	refused = "refused"
)

func refusal(err error) string {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return refused
	}
	return "no connection: " + strings.ReplaceAll(err.Error(), "\n", " ")
}

// knock is the client's side: a connection to that address by way of the door, and
// its number.
func knock(ctx context.Context, door string, client int, addr string) (c *net.TCPConn, number int, err error) {
	dialled, err := new(net.Dialer).DialContext(ctx, "tcp4", door)
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
	case err != nil: // as from a node that goes away
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
