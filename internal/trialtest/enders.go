package trialtest

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// RegisterEnders registers one recipe for each id. At the third attempt of a handle, the recipe calls
// the function of its id, which ends or disturbs the client's process. The locks of these recipes are
// never granted.
func RegisterEnders(ends map[string]func()) {
	for id, end := range ends {
		locks.Register(locks.Recipe{
			ID: id, Document: "tests", Summary: "ends its process", Topology: locks.Single,
			Claims: func(ttl time.Duration, _ int) history.Claims {
				return history.Claims{Quorum: 1, TTL: ttl, Recovery: ttl}
			},
			New: func(c *locks.Client) (locks.Maker, error) {
				return func(key string, _ time.Duration) (locks.Lock, error) {
					return &ender{redis: c, key: key, end: end}, nil
				}, nil
			},
		})
	}
}

type ender struct {
	redis    *locks.Client
	key      string
	end      func()
	attempts int
}

// TryLock implements locks.Lock.
func (e *ender) TryLock(ctx context.Context) (locks.Lease, error) {
	if e.attempts++; e.attempts == 3 {
		e.end()
	}
	if err := e.redis.Nodes[0].Set(ctx, e.key, e.redis.ID, time.Second).Err(); err != nil {
		return locks.Lease{}, err
	}
	return locks.Lease{}, locks.ErrBusy
}

// Unlock implements locks.Lock.
func (e *ender) Unlock(context.Context, locks.Lease) error { return locks.ErrNotHeld }
