package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// WarmConnections is the number of connections that each client makes to each node before a
// trial begins. Faults then hit commands, not handshakes.
const WarmConnections = 2

// WarmUp makes the given number of connections of r and leaves them in its pool. The
// timeouts of r must suffice on a busy machine.
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

// BareError returns a network error without its addresses.
func BareError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
