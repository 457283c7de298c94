package ports

import (
	"context"
	"time"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// redissonShorter is a bug in RWriteLock of Redisson 3.5.4: a writer that acquires the lock again,
// for a shorter time, shortens the lease that it has.
var redissonShorter = bug.Bug{
	Name:     "redisson-shorter",
	Title:    "redisson/redisson #1110",
	Link:     "https://github.com/redisson/redisson/issues/1110",
	FixedIn:  "2.10.5 and 3.5.5",
	Language: "Java",
	Story:    "A writer that took the lock once more, for a shorter time, shortened the lease that it had. (The adapter asks for a tenth of the lease when it has the lock already.)",
	Options:  locktest.Options{Reentrant: true},
	Before:   redisson293.nested(rwClient.write, writeShortly),
	After:    redisson355.nested(rwClient.write, writeShortly),
	Fault:    "none", Flaw: "exclusion by lease-outlived",
	OtherBugsLeft: true,
}

// writeShortly acquires for a tenth of the lease, and releases with the whole one: an inner release gives the
// lock the lease that the client last asked for, which shortens it in later versions too.
func writeShortly(own rwClient, ctx context.Context, c *locktest.Client, key string, ttl time.Duration) (locktest.Held, error) {
	return own.acquire(ctx, c, key, ttl/10, ttl, rwMode{own.acquireWrite, own.releaseWrite, own.renewWrite})
}
