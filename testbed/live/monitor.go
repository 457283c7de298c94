package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// monitor logs the commands that a node executes, including those called by scripts, as Redis's
// MONITOR reports them: one per line, with the node's own time. The log shows a client's name
// instead of its address. Other addresses in the log are the harness's or a primary's. The log goes
// on after a restart of the node, but may lack the last commands before a kill. If the connection to
// a live node breaks, two lines that begin with # mark the start and the end of the gap, with the
// machine's time.
//
// The monitor's connection bypasses links and gate. MONITOR slows the node down.
type monitor struct {
	clients sync.Map // client names ("c0") by address; "" = the log leaves out the address's commands

	mu      sync.Mutex
	file    *os.File
	conn    net.Conn // connection to the present server or, if none runs, to the last server
	stopped bool     // the monitor follows no further servers
	err     error    // why the log is incomplete
}

// newMonitor returns a monitor that logs to a file in dir.
func newMonitor(dir, node string) (*monitor, error) {
	f, err := os.OpenFile(filepath.Join(dir, "monitor-"+node+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("log of commands: %w", err)
	}
	return &monitor{file: f}, nil
}

// meet notes that an address is that of a client.
func (m *monitor) meet(from net.Addr, client int) {
	if m != nil {
		m.clients.Store(from.String(), fmt.Sprintf("c%d", client))
	}
}

// hide makes the log omit the commands from an address, which is the harness's own.
func (m *monitor) hide(from net.Addr) {
	if m != nil {
		m.clients.Store(from.String(), "")
	}
}

// monitorStream reads the output of a server's MONITOR, and replaces a broken connection.
type monitorStream struct {
	monitor *monitor
	server  Server
	conn    net.Conn
	lines   *bufio.Reader
}

// follow starts MONITOR on a server that has just started. The caller then calls write,
// which logs the output.
func (m *monitor) follow(ctx context.Context, s Server) (*monitorStream, error) {
	t := &monitorStream{monitor: m, server: s}
	if err := t.ask(ctx, adminTimeout); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return t, nil
}

// ask opens a connection and starts MONITOR on it.
func (t *monitorStream) ask(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, lines, err := testbed.Monitor(ctx, t.server.Addr())
	if err != nil {
		return err
	}
	t.monitor.mu.Lock()
	defer t.monitor.mu.Unlock()
	if t.monitor.stopped {
		conn.Close()
		return errors.New("it is over")
	}
	t.conn, t.lines, t.monitor.conn = conn, lines, conn
	return nil
}

// write logs the server's output until the server ends. While the server runs, write
// replaces a broken connection.
func (t *monitorStream) write(runs func() bool) {
	for {
		for {
			line, err := t.lines.ReadString('\n')
			if err != nil {
				break
			}
			t.monitor.note(line)
		}
		t.conn.Close()
		if !runs() {
			return
		}
		t.monitor.remark("the connection broke: commands after this line are missing")
		if !t.again(runs) {
			return
		}
		t.monitor.remark("the connection is back: the node's commands follow again")
	}
}

const (
	askAgain   = 20 * time.Millisecond // pause between two attempts to follow a node again
	askTimeout = time.Second           // time limit of each attempt
)

// again repeats ask until ask succeeds. It returns false if the server ends first.
func (t *monitorStream) again(runs func() bool) bool {
	for runs() {
		if t.ask(context.Background(), askTimeout) == nil {
			return true
		}
		pause := time.NewTimer(askAgain)
		select {
		case <-pause.C:
		case <-t.server.Exited():
			pause.Stop()
			return false
		}
	}
	return false
}

// note logs a line of MONITOR, with a client's name: 1339518083.107412 [0 c1] "get" "k". It omits
// lines with a hidden address.
func (m *monitor) note(line string) {
	line = strings.TrimPrefix(line, "+")
	if head, rest, ok := strings.Cut(line, "] "); ok {
		i := strings.LastIndexByte(head, ' ')
		client, known := m.clients.Load(head[i+1:])
		if client == "" {
			return
		}
		if known {
			line = head[:i+1] + client.(string) + "] " + rest
		}
	}
	m.put(strings.TrimRight(line, "\r\n"))
}

// remark logs a line that begins with # and the machine's time.
func (m *monitor) remark(text string) {
	now := time.Now()
	m.put(fmt.Sprintf("# %d.%06d %s", now.Unix(), now.Nanosecond()/1000, text))
}

func (m *monitor) put(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.file.WriteString(line + "\n"); m.err == nil {
		m.err = err
	}
}

// stop stops following a server that has ended. The server's last output is still read, for at
// most closingTimeout.
func (m *monitor) stop() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	if m.conn != nil {
		_ = m.conn.SetReadDeadline(time.Now().Add(closingTimeout))
	}
}

// close closes the log, after the last write. Its error says why the log is incomplete.
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
