// Package orders is a service that takes a lock of github.com/bsm/redislock while it works on an
// order, and prolongs the lock during the work.
package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// Locks takes locks on orders, one lock for each order.
type Locks struct{ client *redislock.Client }

// NewLocks returns Locks that keeps its locks on this Redis.
func NewLocks(rdb *redis.Client) *Locks { return &Locks{redislock.New(rdb)} }

// Lock is the lock on one order, as returned by Obtain.
type Lock struct {
	*redislock.Lock
	lease time.Duration
}

// Obtain locks an order for the lease. The error is redislock.ErrNotObtained if another process
// works on the order.
func (l *Locks) Obtain(ctx context.Context, order string, lease time.Duration) (*Lock, error) {
	held, err := l.client.Obtain(ctx, "order:"+order, lease, nil)
	if err != nil {
		return nil, fmt.Errorf("lock order %s: %w", order, err)
	}
	return &Lock{held, lease}, nil
}

// Prolong makes the lease last for its whole time from now on. The error is
// redislock.ErrNotObtained if the lease has ended.
func (l *Lock) Prolong(ctx context.Context) error { return l.Refresh(ctx, l.lease, nil) }
