package testbed

import (
	"errors"
	"net"
	"time"
)

// acceptPause is the pause before the next Accept after a failed one. A shortage, such as one of
// file descriptors, takes a while to pass.
const acceptPause = 10 * time.Millisecond

// Accept returns the next connection. It retries after every error except net.ErrClosed,
// which it returns.
func Accept(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		time.Sleep(acceptPause)
	}
}
