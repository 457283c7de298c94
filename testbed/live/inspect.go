package live

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/history"
)

// Keys lists what is on a server, as testbed.Inspector does.
func Keys(ctx context.Context, c *redis.Client) ([]history.KeyState, error) { return keysOn(ctx, c) }
