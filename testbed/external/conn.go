package external

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// conn is one connection to a server, after the login. Commands written to it, and replies
// read from it, pass the guard.
type conn struct {
	net.Conn
	server *server
	in     *bufio.Reader
	whole  *bufio.Reader // reads the complete commands at the beginning of the field part
	part   []byte        // bytes that were not sent yet: an incomplete command; used only by the writer

	reading sync.Mutex
	out     []byte // the unread rest of a reply; guarded by reading

	mu     sync.Mutex
	closed bool
	asked  bool // QUIT was sent
}

// linger bounds how long a closed connection waits until the server closes it, too. Once the server
// has closed a connection, no command sent over that connection is still on its way.
const linger = 2 * time.Second

// Write implements net.Conn. If the guard refuses a command, the command is not sent, and
// the trial ends.
func (c *conn) Write(p []byte) (int, error) {
	c.part = append(c.part, p...)
	var out []byte
	for len(c.part) > 0 {
		c.whole.Reset(bytes.NewReader(c.part))
		m, err := resp.Read(c.whole)
		if errors.Is(err, io.EOF) {
			break // the command is incomplete
		}
		var args []history.Bytes
		if err == nil {
			args, err = m.Args()
		}
		if err != nil {
			c.server.lose(fmt.Errorf("a client sent no command: %w", err))
			return 0, err
		}
		confined, err := c.server.guard.confine(args)
		if err != nil {
			c.server.lose(err)
			return 0, err
		}
		if strings.EqualFold(confined[0], "QUIT") {
			c.mu.Lock()
			c.asked = true
			c.mu.Unlock()
		}
		out = append(out, encode(confined...)...)
		c.part = c.part[len(m):]
	}
	if _, err := c.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Read implements net.Conn. If the server closes the connection unexpectedly, the trial
// ends, since the effect on the clients would be unknown.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if len(c.out) == 0 {
		m, err := resp.Read(c.in)
		if err != nil {
			return 0, c.broken(err)
		}
		c.out = c.server.guard.strip(m)
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

func (c *conn) broken(err error) error {
	c.mu.Lock()
	closed, asked := c.closed, c.asked
	c.mu.Unlock()
	switch {
	case closed:
		return net.ErrClosed
	case asked || errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	c.server.lose(fmt.Errorf("%s ended a connection: %w", c.server.addr, testbed.BareError(err)))
	return err
}

// Close implements net.Conn. It returns at once; server.conns counts the connection until
// the server has closed its end, too.
func (c *conn) Close() error {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return net.ErrClosed
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Unix(0, 1)) // wakes the reader
	go func() {
		defer c.server.conns.Done()
		c.reading.Lock()
		defer c.reading.Unlock()
		_ = c.SetReadDeadline(time.Now().Add(linger))
		_, _ = io.Copy(io.Discard, c.Conn)
		_ = c.Conn.Close()
	}()
	return nil
}
