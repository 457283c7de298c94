// Package invoices is a service that numbers invoices one after another. It takes a redsync lock on
// three Redis nodes, and waits for its turn.
package invoices

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// ErrBusy: others still had the lock after all retries.
var ErrBusy = errors.New("others are numbering invoices")

// Locks takes locks on books of invoices, one lock for each book.
type Locks struct{ sync *redsync.Redsync }

// NewLocks returns Locks that takes each lock on a majority of these nodes.
func NewLocks(nodes ...*redis.Client) *Locks {
	var pools []redsyncredis.Pool
	for _, n := range nodes {
		pools = append(pools, goredis.NewPool(n))
	}
	return &Locks{redsync.New(pools...)}
}

// Lock is the lock on one book, as returned by Wait.
type Lock struct{ mutex *redsync.Mutex }

// Wait locks a book for the lease. While others have the lock, Wait waits until ctx ends or its
// attempts are used up (ErrBusy).
func (l *Locks) Wait(ctx context.Context, book string, lease time.Duration) (*Lock, error) {
	m := l.sync.NewMutex("book:"+book, redsync.WithExpiry(lease), redsync.WithTries(1000), redsync.WithRetryDelayFunc(pause))
	if err := m.LockContext(ctx); err != nil {
		var taken *redsync.ErrTaken
		if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
			return nil, fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return nil, err
	}
	return &Lock{m}, nil
}

// pause is the time between two attempts. It is random, because clients in step with each other
// would split the nodes among them again and again.
func pause(int) time.Duration { return 500*time.Millisecond + rand.N(time.Second) }

// Until returns the end of the lease.
func (l *Lock) Until() time.Time { return l.mutex.Until() }

// Unlock releases the lock. It reports whether a majority of the nodes still had the lock.
func (l *Lock) Unlock(ctx context.Context) (bool, error) { return l.mutex.UnlockContext(ctx) }
