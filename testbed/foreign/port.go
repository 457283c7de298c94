package foreign

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockstorm/lockstorm/locks"
)

// port is a TCP port of this machine that stands for a node. While the node is up, connections are forwarded
// through the client's dialer. While the node is down, the port refuses them, as the node itself would.
type port struct {
	c        *locks.Client
	node     string // the node's address for the client's dialer
	addr     string
	reserved int           // a bound socket that does not listen: it keeps the number while nobody listens
	passed   func(passage) // told what passes on the connections; may be nil

	mu     sync.Mutex
	up     bool         // the node is
	l      net.Listener // nil = connections are refused
	closed bool
}

// openPort opens a port for a node until the client's context ends.
func openPort(c *locks.Client, node string, passed func(passage)) (*port, error) {
	syscall.ForkLock.RLock() // not every system can set the flag when it makes the socket
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	p := &port{c: c, node: node, reserved: fd, passed: passed}
	if err := share(fd); err != nil {
		return nil, p.giveUp(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, p.giveUp(os.NewSyscallError("bind", err))
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return nil, p.giveUp(os.NewSyscallError("getsockname", err))
	}
	p.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(name.(*unix.SockaddrInet4).Port))
	context.AfterFunc(c.Context, p.close)
	if c.Watch == nil {
		p.set(true)
	} else {
		c.Watch(node, p.set)
	}
	return p, nil
}

// share lets another socket have the same port.
func share(fd int) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

func (p *port) giveUp(err error) error {
	_ = unix.Close(p.reserved) // err says more
	return err
}

// set says whether the node is up.
func (p *port) set(up bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.up = up
	if !up && p.l != nil {
		p.l.Close()
		p.l = nil
	}
	p.listen()
}

// again is how long after a failure the port tries to listen again. It fails if this program has too many
// open files.
const again = 10 * time.Millisecond

// listen makes the port accept connections if the node is up. The caller holds mu.
func (p *port) listen() {
	if !p.up || p.l != nil || p.closed {
		return
	}
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var shared error
		if err := raw.Control(func(fd uintptr) { shared = share(int(fd)) }); err != nil {
			return err
		}
		return shared
	}}
	l, err := config.Listen(p.c.Context, "tcp4", p.addr)
	if err != nil {
		time.AfterFunc(again, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.listen()
		})
		return
	}
	p.l = l
	go accept(p.c, l, p.node, p.passed)
}

func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.l != nil {
		p.l.Close()
		p.l = nil
	}
	_ = unix.Close(p.reserved)
}

// listen opens a port for each node until the client's context ends, and returns their addresses. If passed is
// not nil, it is told what passes to the nodes.
func listen(c *locks.Client, passed func(passage)) (addrs []string, err error) {
	for _, node := range c.Addrs {
		p, err := openPort(c, node, passed)
		if err != nil {
			return nil, fmt.Errorf("listen for a client: %w", err)
		}
		addrs = append(addrs, p.addr)
	}
	return addrs, nil
}
