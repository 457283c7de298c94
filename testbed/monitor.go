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

// Monitor asks the Redis at addr to report each command that it executes from now on, one
// per line. Ctx bounds only the request; closing the connection ends the report.
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
