package ports

import (
	"context"
	"time"

	"example.com/history/ports/bug"

	"github.com/lockstorm/lockstorm/locktest"
)

// noderedlockStart is a bug in Redlock.acquire of node-redlock 5.0.0-beta.2, src/index.ts, which tries
// again every 200 ms: the lease counts from the first attempt, and not from the attempt that succeeds.
var noderedlockStart = bug.Bug{
	Name:     "node-redlock-start",
	Title:    "mike-marcacci/node-redlock #299",
	Link:     "https://github.com/mike-marcacci/node-redlock/issues/299",
	FixedIn:  "5dd9e28 (#274)",
	Language: "TypeScript",
	Story:    "The lease was counted from the first of several attempts, so a caller that had waited got a deadline that was too early, or even past. Holders stop too early: that is safe, and no oracle reports it.",
	Options:  five,
	Before:   retriedFrom(func(first, _ time.Time) time.Time { return first }),
	After:    retriedFrom(func(_, last time.Time) time.Time { return last }),
}

// retriedFrom is a Redlock whose Acquire makes up to ten attempts. The holder's lease counts from
// the instant that start chooses: the beginning of the first attempt, or of the last.
func retriedFrom(start func(first, last time.Time) time.Time) locktest.Subject {
	return func(c *locktest.Client) (locktest.Acquire, error) {
		acquire, err := redlock(right)(c)
		return func(ctx context.Context, key string, ttl time.Duration) (locktest.Held, error) {
			first := time.Now()
			for range 10 {
				last := time.Now()
				held, err := acquire(ctx, key, ttl)
				if err == nil {
					end := start(first, last).Add(ttl - drift(ttl))
					held.Until = func() time.Time { return end }
					return held, nil
				}
				select {
				case <-ctx.Done():
					return locktest.Held{}, ctx.Err()
				case <-time.After(200 * time.Millisecond):
				}
			}
			return locktest.Held{}, locktest.ErrBusy
		}, err
	}
}
