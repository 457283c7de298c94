package testbed

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// Monitor sends MONITOR to the Redis at addr. The reader then returns each command that Redis
// executes, one per line. The caller closes the connection, which ends the report. Ctx bounds
// only the request. The error is ctx's, the network's, or Redis's refusal.
func Monitor(ctx context.Context, addr string) (net.Conn, *bufio.Reader, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	wake := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(0, 1)) })
	lines := bufio.NewReader(conn)
	_, err = io.WriteString(conn, "MONITOR\r\n")
	answer := ""
	if err == nil {
		answer, err = lines.ReadString('\n')
	}
	if err == nil && answer != "+OK\r\n" {
		err = errors.New(strings.TrimSpace(answer))
	}
	if !wake() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return conn, lines, nil
}
