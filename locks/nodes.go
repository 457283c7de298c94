package locks

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// masterOf returns the client of the one node on which the key is: the node
// itself, or of a cluster the present master of the key's slot. It is for what is
// said on one connection of one node. An error says that no such node is known;
// nothing was sent about the key.
func masterOf(ctx context.Context, node redis.UniversalClient, key string) (*redis.Client, error) {
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
