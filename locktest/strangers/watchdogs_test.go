package strangers

import (
	"context"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// watched adds a watchdog to a lock: watch gets each new lease, with the time at which its attempt
// began, and a context that ends with the release or the client process.
func watched(l lease, inner locks.Lock, watch func(ctx context.Context, held *locks.Lease, asked time.Time)) locks.Lock {
	var mu sync.Mutex
	dogs := map[string]context.CancelFunc{} // by token
	return steps{
		func(ctx context.Context) (locks.Lease, error) {
			asked := time.Now()
			held, err := inner.TryLock(ctx)
			if err != nil {
				return held, err
			}
			mu.Lock()
			defer mu.Unlock()
			process, quit := context.WithCancel(l.c.Context)
			dogs[held.Token] = quit
			watch(process, &held, asked)
			return held, nil
		},
		func(ctx context.Context, held locks.Lease) error {
			mu.Lock()
			if quit := dogs[held.Token]; quit != nil {
				quit()
				delete(dogs, held.Token)
			}
			mu.Unlock()
			return inner.Unlock(ctx, held)
		},
	}
}

// every calls do at each interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}
