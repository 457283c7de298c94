package ports

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redsyncValidity is a bug in Mutex.Extend of redsync 4.3, mutex.go: an extension reports success
// even if the extension took longer than the lease.
var redsyncValidity = bug.Bug{
	Name:     "redsync-validity",
	Title:    "go-redsync/redsync #71",
	Link:     "https://github.com/go-redsync/redsync/pull/71",
	FixedIn:  "v4.4.0",
	Language: "Go",
	Story:    "Extend did not check how long it had taken: it reported success even if its first keys had expired while it waited for the last node (Valid had the same bug, #72). With timeouts of seconds and leases of 30 s, no reply comes that late.",
	Options:  five,
	Before:   extended(false),
	After:    extended(true),
}

// extended is a Redlock whose extension asks all nodes at once, and waits for all of them. If check
// is set, the extension fails when it took longer than the lease.
func extended(check bool) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		nodes := connect(c)
		acquire, err := untold(redlock(right))(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			held, err := acquire(ctx, key, ttl)
			held.Extend = func(ctx context.Context) error {
				start := time.Now()
				switch n := count(nodes, func(rdb *redis.Client) (bool, error) { return extendOwn(rdb)(ctx, key, held.Token, ttl) }); {
				case n <= len(nodes)/2:
					return locktest.ErrNotHeld
				case check && right(ttl, time.Since(start)) <= 0:
					return errors.New("the extension took too long")
				}
				return nil
			}
			return held, err
		}, err
	}
}

// count calls do on all nodes at once, and returns the number of calls that succeeded.
func count(nodes []*redis.Client, do func(*redis.Client) (bool, error)) int {
	var n atomic.Int32
	var all sync.WaitGroup
	for _, rdb := range nodes {
		all.Go(func() {
			if ok, err := do(rdb); ok && err == nil {
				n.Add(1)
			}
		})
	}
	all.Wait()
	return int(n.Load())
}
