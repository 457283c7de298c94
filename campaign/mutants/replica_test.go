package mutants

import (
	"context"
	"errors"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// waitFor returns how long set-nx-px-wait waits for a replica's acknowledgement, in milliseconds.
func waitFor(ttl time.Duration) int64 { return milliseconds(ttl / 10) }

// acknowledged is the acquire of the good recipe set-nx-px-wait. Without an acknowledgement it releases
// the key and returns ErrBusy, or the error of the release if the key may still be there.
func acknowledged(ctx context.Context, l single) (locks.Lease, error) {
	lease, err := l.tryLock(ctx)
	if err != nil {
		return lease, err
	}
	acked, err := l.node().Do(ctx, "WAIT", 1, waitFor(l.ttl)).Int64()
	if err == nil && acked < 1 {
		err = locks.ErrBusy
		if uerr := l.unlock(ctx, lease); uerr != nil && !errors.Is(uerr, locks.ErrNotHeld) {
			err = uerr
		}
	}
	return lease, err
}

// waiting is a client's handle on the good recipe, whose acquire a mutant replaces.
type waiting struct {
	single
	acquire func(context.Context, single) (locks.Lease, error)
}

// TryLock implements locks.Lock.
func (l *waiting) TryLock(ctx context.Context) (locks.Lease, error) {
	asked := l.c.Now()
	lease, err := l.acquire(ctx, l.single)
	lease.Deadline = asked.Add(l.ttl)
	return lease, err
}

// Unlock implements locks.Lock.
func (l *waiting) Unlock(ctx context.Context, lease locks.Lease) error { return l.unlock(ctx, lease) }

// replicas returns the mutants of set-nx-px-wait. That recipe sends SET NX PX, then WAIT 1 with a
// timeout, and then a compare-and-delete if no replica acknowledged the key.
func replicas() []Mutant {
	mutant := family("set-nx-px-wait", func(c *locks.Client, key string, ttl time.Duration) *waiting {
		return &waiting{single{c, key, ttl}, acknowledged}
	}, compareAndDelete)
	return []Mutant{
		mutant("acknowledgements-ignored", "the acquire ignores how many replicas acknowledged the key", func(l *waiting) { l.acquire = unacknowledged }),
		mutant("wait-before-set", "WAIT comes before the SET, so it waits for nothing", func(l *waiting) { l.acquire = waitsFirst }),
	}
}

// unacknowledged is a mistaken acquire: it does not read WAIT's reply.
func unacknowledged(ctx context.Context, l single) (locks.Lease, error) {
	lease, err := l.tryLock(ctx)
	if err != nil {
		return lease, err
	}
	return lease, l.node().Do(ctx, "WAIT", 1, waitFor(l.ttl)).Err()
}

// waitsFirst is a mistaken acquire: it sends WAIT before it sets the key.
func waitsFirst(ctx context.Context, l single) (locks.Lease, error) {
	acked, err := l.node().Do(ctx, "WAIT", 1, waitFor(l.ttl)).Int64()
	if err != nil {
		return locks.Lease{}, err
	}
	if acked < 1 {
		return locks.Lease{}, locks.ErrBusy
	}
	return l.tryLock(ctx)
}
