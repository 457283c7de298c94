package external

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/resp"
)

// conn is one connection to a server, after the login.
type conn struct {
	net.Conn
	server *server
	in     *bufio.Reader

	reading sync.Mutex // held during each read
	out     []byte     // the beginning of an incomplete command; Write is not called concurrently

	mu     sync.Mutex
	closed bool
	asked  bool // QUIT was sent
}

// linger bounds how long a closed connection waits until the server closes it, too. Once the server
// has closed a connection, no command sent over that connection is still on its way.
const linger = 2 * time.Second

// Write implements net.Conn. A command with which the connection would leave the user that it has
// logged in as is not sent, and the trial ends; nor is what is
// no command. A network that holds commands back writes several at once, or parts of them.
func (c *conn) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	for len(c.out) > 0 {
		args, n, err := resp.Cut(c.out, nil)
		if err == nil && n == 0 { // the command's end, without which it does not run, has not come
			break
		}
		switch {
		case err != nil:
			err = fmt.Errorf("a client sent what is no command, which is not sent on: %w", err)
		case leaves(args):
			err = fmt.Errorf("a client sent %s, which is not sent on: the testbed has logged in already", resp.Name(args))
		}
		if err != nil {
			c.server.lose(err)
			return 0, err
		}
		if resp.Name(args) == "QUIT" {
			c.mu.Lock()
			c.asked = true
			c.mu.Unlock()
		}
		c.out = c.out[n:]
	}
	return c.Conn.Write(p)
}

// leaves reports whether the command may give the connection another user.
func leaves(args []history.Bytes) bool {
	switch resp.Name(args) {
	case "AUTH", "RESET":
		return true
	case "HELLO":
		return slices.ContainsFunc(args, func(a history.Bytes) bool { return strings.EqualFold(string(a), "AUTH") })
	}
	return false
}

// Read implements net.Conn. If the server closes the connection unexpectedly, the trial
// ends, since the effect on the clients would be unknown.
func (c *conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	n, err := c.in.Read(p)
	if err != nil {
		err = c.broken(err)
	}
	return n, err
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
