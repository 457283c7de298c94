package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// WarmConnections are made per client and node before a trial begins, so that a
// fault does not hit a handshake where it is meant to hit a command.
const WarmConnections = 2

// WarmUp makes this many connections of r and leaves them in its pool. The timeouts of r
// must suffice on a busy machine.
func WarmUp(ctx context.Context, r *redis.Client, connections int) error {
	for range connections {
		c := r.Conn()
		defer c.Close()
		if err := c.Ping(ctx).Err(); err != nil {
			return fmt.Errorf("warm a connection: %w", err)
		}
	}
	return nil
}

// Bare strips the addresses off a network error.
func Bare(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
