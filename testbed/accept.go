package testbed

import (
	"errors"
	"net"
	"time"
)

// acceptPause is how long it takes to try again after an error of Accept: what is
// short then, file descriptors for one, needs a while to come back.
const acceptPause = 10 * time.Millisecond

// Accept is the next connection. The only error is net.ErrClosed: a listener that
// is open gets over all others.
func Accept(l net.Listener) (net.Conn, error) {
	for {
		c, err := l.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) {
			return c, err
		}
		time.Sleep(acceptPause)
	}
}
