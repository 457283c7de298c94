package testbed

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
)

// scanty is a listener whose Accept fails twice for lack of file descriptors, and then fails
// because the listener is closed.
type scanty struct {
	net.Listener
	asked int
}

func (s *scanty) Accept() (net.Conn, error) {
	if s.asked++; s.asked <= 2 {
		return nil, fmt.Errorf("accept: %w", syscall.EMFILE)
	}
	return nil, fmt.Errorf("accept: %w", net.ErrClosed)
}

func TestAcceptGoesOnUntilTheListenerIsClosed(t *testing.T) {
	l := &scanty{}
	if _, err := Accept(l); !errors.Is(err, net.ErrClosed) || l.asked != 3 {
		t.Errorf("got %v after %d attempts, want %v after 3", err, l.asked, net.ErrClosed)
	}
}
