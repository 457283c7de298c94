package locks

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// masterOf returns the client of the one node that has the key: the node itself, or the current
// master of the key's slot in a cluster. Use masterOf for commands that need one connection to one
// node. An error means that no such node is known and that no command for the key was sent.
func masterOf(ctx context.Context, node Node, key string) (*redis.Client, error) {
	switch c := node.(type) {
	case *redis.Client:
		return c, nil
	case *redis.ClusterClient:
		master, err := c.MasterForKey(ctx, key)
		if err != nil {
			return nil, fmt.Errorf("find the master of %q: %w", key, err)
		}
		return master, nil
	}
	return nil, fmt.Errorf("find the master of %q: a %T is neither a node nor a cluster", key, node)
}
