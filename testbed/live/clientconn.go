package live

import (
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
	proxy  *proxy // nil = no rule resets the connection
	number int    // the connection's number for the proxy

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
	if ended := c.ended(); ended != nil {
		return 0, ended
	}
	return n, testbed.BareError(err)
}

// Write implements net.Conn. Under a rule that resets the connection, p is lost.
func (c *nearEnd) Write(p []byte) (int, error) {
	if err := c.ended(); err != nil {
		return 0, err
	}
	if c.proxy != nil && c.proxy.toxics[testbed.Upstream].mode(c.number, nil).reset {
		c.reset()
		return len(p), nil
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

// reset makes the connection look reset to its client.
func (c *nearEnd) reset() { c.end(syscall.ECONNRESET) }

// end makes reads and writes fail with err from now on. Only the first call has an effect.
func (c *nearEnd) end(err error) {
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
}

func (c *nearEnd) drain() {
	c.reading.Lock() // wait for the last Read of TCPConn: later calls of Read fail before they reach it
	c.TCPConn.SetReadDeadline(time.Time{})
	c.reading.Unlock()
	io.Copy(io.Discard, c.TCPConn)
	c.TCPConn.Close()
}
