package strangers

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockstorm/lockstorm/locks"
)

// waiting are locks that may stay free while a client waits for them. None of them only waits for
// a message and sends nothing, because that would be a deadlock in the simulation.
func waiting() []Stranger {
	return []Stranger{
		{ID: "script-loaded-once", Doc: "SET NX PX in a script that each client loads once and then calls only by EVALSHA", bind: loadedOnce},
	}
}

// loadedOnce loads the script once per client, and then sends only EVALSHA. After a SCRIPT FLUSH
// every later acquire of that client fails.
func loadedOnce(c *locks.Client) maker {
	loaded := false
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		l := lease{c, key, ttl}
		return steps{func(ctx context.Context) (locks.Lease, error) {
			if !loaded {
				if err := obtain.Load(ctx, l.node()).Err(); err != nil {
					return locks.Lease{}, fmt.Errorf("load the script: %w", err)
				}
				loaded = true
			}
			return l.attempt(func(token string) *redis.Cmd { return obtain.EvalSha(ctx, l.node(), []string{key}, token, l.life()) })
		}, l.unlock}, nil
	}
}
