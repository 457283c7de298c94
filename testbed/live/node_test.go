package live

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/testbed"
)

// slowPlace starts the server that the test sends to start.
type slowPlace struct {
	Place
	start chan Server
}

func (p slowPlace) Start(ctx context.Context, _ ServerOptions) (Server, error) {
	select {
	case s := <-p.start:
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stub is a server without a process: it counts as running until it is killed or closed.
type stub struct {
	Server
	addr   string
	exited chan struct{}
}

func newStub(addr string) *stub { return &stub{addr: addr, exited: make(chan struct{})} }

func (s *stub) Addr() string            { return s.addr }
func (s *stub) Exited() <-chan struct{} { return s.exited }
func (s *stub) Err() error              { return errors.New("ended") }
func (s *stub) Kill() error             { close(s.exited); return nil }
func (s *stub) Close() error {
	select {
	case <-s.exited:
	default:
		close(s.exited)
	}
	return nil
}

// newStubNode returns a node of the place. The test fails if the node dies unexpectedly.
func newStubNode(t *testing.T, place slowPlace) *node {
	began := time.Now()
	setup := testbed.Setup{Durability: testbed.Volatile, Clock: func() time.Duration { return time.Since(began) }}
	return newNode("n0", place, t.TempDir(), "", setup, mustLive(t))
}

// mustLive returns the function that a node or proxy calls when it dies; it fails the test.
func mustLive(t *testing.T) func(error) {
	return func(err error) { t.Errorf("died: %v", err) }
}

func startAs(t *testing.T, n *node, place slowPlace, s Server) {
	t.Helper()
	place.start <- s
	if err := n.start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestNobodyWaitsForANodeThatStarts checks that two methods do not wait during a restart: running
// reports the node as down, and addr returns the node's last address.
func TestNobodyWaitsForANodeThatStarts(t *testing.T) {
	place := slowPlace{start: make(chan Server, 1)}
	n := newStubNode(t, place)
	startAs(t, n, place, newStub("there:1"))
	if err := n.kill(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() {
		_, err := n.restart(t.Context())
		restarted <- err
	}()
	told := make(chan string, 1)
	go func() {
		time.Sleep(50 * time.Millisecond) // the restart is under way
		_, err := n.running()
		told <- n.addr() + ", " + err.Error()
	}()
	select {
	case got := <-told:
		if want := "there:1, node n0 is down"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Error("who asks waits for the start")
	}
	place.start <- newStub("elsewhere:2")
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	if _, err := n.running(); err != nil || n.addr() != "elsewhere:2" {
		t.Errorf("after the start: at %s, %v", n.addr(), err)
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

// immortal is a server that survives Kill, until it is closed.
type immortal struct{ *stub }

func (s immortal) Kill() error {
	<-s.exited
	return nil
}

func TestAKillIsGivenUpWithItsContext(t *testing.T) {
	place := slowPlace{start: make(chan Server, 1)}
	n := newStubNode(t, place)
	startAs(t, n, place, immortal{newStub("there:1")})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	told := 0
	down := func() error { told++; return nil }
	if err := n.kill(ended, down); !errors.Is(err, context.Canceled) || told > 0 {
		t.Errorf("too late: got %v, told %d times", err, told)
	}
	if _, err := n.running(); err != nil {
		t.Errorf("nobody has killed it: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	killed := make(chan error, 1)
	go func() { killed <- n.kill(ctx, down) }()
	select {
	case err := <-killed:
		if !errors.Is(err, context.DeadlineExceeded) || told != 1 {
			t.Errorf("it does not die: got %v, told %d times", err, told)
		}
	case <-time.After(10 * time.Second):
		t.Error("a kill does not end with its context")
	}
	if err := n.close(); err != nil {
		t.Error(err)
	}
}

// teller is a server that answers each MONITOR with one line.
type teller struct {
	*stub
	conns chan net.Conn
}

func newTeller(t *testing.T) teller {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := teller{newStub(l.Addr().String()), make(chan net.Conn, 10)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "MONITOR\r\n" {
				c.Close()
				continue
			}
			_, _ = io.WriteString(c, "+OK\r\n+1.5 [0 1.2.3.4:5] \"get\" \"k\"\r\n")
			s.conns <- c
		}
	}()
	return s
}

// TestALogTellsWhereItHasAGap checks that the log continues after the connection broke, and marks
// the gap.
func TestALogTellsWhereItHasAGap(t *testing.T) {
	place := slowPlace{start: make(chan Server, 1)}
	n, dir := newStubNode(t, place), t.TempDir()
	var err error
	if n.monitor, err = newMonitor(dir, "n0"); err != nil {
		t.Fatal(err)
	}
	s := newTeller(t)
	startAs(t, n, place, s)
	log := filepath.Join(dir, "monitor-n0.log")
	first := <-s.conns
	awaitLines(t, log, 1)
	first.Close()
	select {
	case c := <-s.conns:
		defer c.Close()
	case <-time.After(10 * time.Second):
		t.Error("the node is not followed again")
	}
	text := awaitLines(t, log, 4)
	if err := n.close(); err != nil {
		t.Error(err)
	}
	for i, want := range []string{`1.5 [0 1.2.3.4:5] "get" "k"`, "the connection broke", "the connection is back", `"get" "k"`} {
		if lines := strings.Split(text, "\n"); len(lines) <= i || !strings.Contains(lines[i], want) {
			t.Errorf("got\n%s\nwant %q in line %d", text, want, i)
		}
	}
}

// awaitLines returns a file's text as soon as the file has that many lines.
func awaitLines(t *testing.T, path string, lines int) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(path)
		if err == nil && strings.Count(string(text), "\n") >= lines {
			return string(text)
		}
		if time.Now().After(end) {
			t.Errorf("got %q, %v, want %d lines", text, err, lines)
			return string(text)
		}
	}
}
