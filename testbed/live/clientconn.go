package live

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// nearEnd is the client's TCP connection to its proxy, below the gate.
//
// If the client's end stopped reading, the proxy's goroutines that send to it would block for ever.
// So Close closes only the sending side, and a goroutine reads on until the proxy closes.
type nearEnd struct {
	*net.TCPConn
	by     known   // the connection's identity in the history's commands
	gone   func()  // called after the proxy has closed
	resets *resets // records a reset by the proxy; may be nil

	reading sync.Mutex // held during each Read
	mu      sync.Mutex
	err     error // the error of reads and writes after a close or reset
}

// Read implements net.Conn. Its errors contain no addresses, because they go into histories.
func (c *nearEnd) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	if err := c.ended(); err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Read(p)
	if errors.Is(err, syscall.ECONNRESET) {
		c.resets.note(c)
	}
	if ended := c.ended(); ended != nil {
		return 0, ended
	}
	return n, testbed.BareError(err)
}

// Write implements net.Conn.
func (c *nearEnd) Write(p []byte) (int, error) {
	if err := c.ended(); err != nil {
		return 0, err
	}
	n, err := c.TCPConn.Write(p)
	return n, testbed.BareError(err)
}

func (c *nearEnd) ended() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close implements net.Conn.
func (c *nearEnd) Close() error { c.end(net.ErrClosed); return nil }

// reset makes the connection look reset to its client, and reports whether it was still
// open.
func (c *nearEnd) reset() bool { return c.end(syscall.ECONNRESET) }

// end makes reads and writes fail with err from now on. Only the first call has an effect; end
// reports whether this is the first call.
func (c *nearEnd) end(err error) bool {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
	}
	c.mu.Unlock()
	if first {
		c.TCPConn.CloseWrite()
		c.TCPConn.SetReadDeadline(time.Unix(0, 1)) // wakes the reader
		go c.drain()
	}
	return first
}

func (c *nearEnd) drain() {
	c.reading.Lock() // wait for the last Read of TCPConn: later calls of Read fail before they reach it
	c.TCPConn.SetReadDeadline(time.Time{})
	c.reading.Unlock()
	io.Copy(io.Discard, c.TCPConn)
	c.TCPConn.Close()
	c.gone()
}

// resets is the set of connections that a fault has reset, including idle ones.
type resets struct {
	mu    sync.Mutex
	conns map[known]bool
}

func (r *resets) note(c *nearEnd) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns[c.by] = true
}

// among counts how many of conns were reset.
func (r *resets) among(conns map[known]bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for c := range conns {
		if r.conns[c] {
			n++
		}
	}
	return n
}
