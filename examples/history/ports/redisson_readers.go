package ports

import (
	"context"
	"strings"
	"time"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonReaders is a bug in RReadLock of Redisson 3.11.0: a reader that asks for a short lease
// shortens the leases of the other readers.
var redissonReaders = bug.Bug{
	Name:     "redisson-readers",
	Title:    "redisson/redisson #2144",
	Link:     "https://github.com/redisson/redisson/issues/2144",
	FixedIn:  "3.11.1",
	Language: "Java",
	Story:    "A reader that asked for a short lease shortened the leases of the other readers: a writer came in beside them. (One of the adapter's clients reads for a tenth of the lease.)",
	Before:   unequal(redisson355),
	After:    unequal(redisson3111),
	Fault:    "none", Flaw: "exclusion by foreign-renewal",
	OtherBugsLeft: true,
}

// unequal is a service with one client that reads with a shorter lease.
func unequal(l redissonRW) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		own, part := l.client(c), time.Duration(1)
		if strings.HasSuffix(c.ID, "1") {
			part = 10
		}
		c.Readers(func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			return own.read(ctx, c, key, ttl/part)
		})
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			return own.write(ctx, c, key, ttl)
		}, nil
	}
}
