package live

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// monitor keeps what a node executes, commands that scripts call included, as
// Redis's MONITOR tells it: a line each, with the node's own time. In place of the
// address from which a client's command came stands the client; another address is
// the harness's, or that of a primary. It goes on over restarts of the node; what a
// node did just before it was killed, it may not have told any more.
//
// Its connection leads past links and gate to the node. A node that tells all that
// it does has less time to do it.
type monitor struct {
	clients sync.Map // by address: "c0"

	mu   sync.Mutex
	file *os.File
	conn net.Conn // to the present server, or the last one
	err  error    // why the log is not whole
}

// newMonitor makes the log of a node in a directory.
func newMonitor(dir, node string) (*monitor, error) {
	f, err := os.OpenFile(filepath.Join(dir, "monitor-"+node+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log of commands: %w", err)
	}
	return &monitor{file: f}, nil
}

// meet says whose commands come from an address.
func (m *monitor) meet(from net.Addr, client int) {
	if m != nil {
		m.clients.Store(from.String(), fmt.Sprintf("c%d", client))
	}
}

// follow asks a server that has just started to tell what it executes. What it
// says from then on is written by the function that is returned, until the server
// ends.
func (m *monitor) follow(s Server) (write func(), err error) {
	conn, err := net.DialTimeout("tcp", s.Addr(), adminTimeout)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	lines := bufio.NewReader(conn)
	_ = conn.SetDeadline(time.Now().Add(adminTimeout))
	_, err = io.WriteString(conn, "MONITOR\r\n")
	answer := ""
	if err == nil {
		answer, err = lines.ReadString('\n')
	}
	if err == nil && answer != "+OK\r\n" {
		err = errors.New(strings.TrimSpace(answer))
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("monitor: %w", err)
	}
	_ = conn.SetDeadline(time.Time{})
	m.mu.Lock()
	m.conn = conn
	m.mu.Unlock()
	return func() {
		defer conn.Close()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			m.note(line)
		}
	}, nil
}

// note writes a line as "1339518083.107412 [0 c1] "get" "k"".
func (m *monitor) note(line string) {
	line = strings.TrimPrefix(line, "+")
	if head, rest, ok := strings.Cut(line, "] "); ok {
		i := strings.LastIndexByte(head, ' ')
		if client, known := m.clients.Load(head[i+1:]); known {
			line = head[:i+1] + client.(string) + "] " + rest
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.file.WriteString(strings.TrimRight(line, "\r\n") + "\n"); m.err == nil {
		m.err = err
	}
}

// leave lets go of a server that has ended, soon: what it said before is read.
func (m *monitor) leave() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil {
		_ = m.conn.SetReadDeadline(time.Now().Add(patience))
	}
}

// close ends the log; nobody writes to it any more. The error says why it is not
// whole.
func (m *monitor) close() error {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	err := errors.Join(m.err, m.file.Close())
	if err != nil {
		return fmt.Errorf("log of commands: %w", err)
	}
	return nil
}
