package testbed

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// monitored starts a server that sends answer in reply to MONITOR.
func monitored(t *testing.T, answer string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		t.Cleanup(func() { c.Close() })
		_, _ = bufio.NewReader(c).ReadString('\n')
		_, _ = c.Write([]byte(answer))
	}()
	return l.Addr().String()
}

func TestMonitorTellsOnWhenItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	conn, lines, err := Monitor(ctx, monitored(t, "+OK\r\n+1.5 [0 1.2.3.4:5] \"get\" \"k\"\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if line, err := lines.ReadString('\n'); !strings.HasSuffix(line, "\"get\" \"k\"\r\n") || err != nil {
		t.Errorf("got %q, %v", line, err)
	}
}

func TestMonitorSaysWhyNothingIsTold(t *testing.T) {
	if _, _, err := Monitor(t.Context(), monitored(t, "-NOPERM no\r\n")); err == nil || err.Error() != "-NOPERM no" {
		t.Errorf("got %v, want what the server says", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := Monitor(ctx, monitored(t, "")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("of a server that does not answer: %v, want %v", err, context.DeadlineExceeded)
	}
}
