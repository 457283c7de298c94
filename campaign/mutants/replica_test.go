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

// replicas returns the mutants of set-nx-px-wait. That recipe sends SET NX PX, then WAIT 1 with a
// timeout, and then a compare-and-delete if no replica acknowledged the key.
func replicas() []Mutant {
	mutant := func(id, doc string, acquire func(ctx context.Context, l single) (locks.Lease, error)) Mutant {
		lock := func(acquire func(context.Context, single) (locks.Lease, error)) maker {
			return func(c *locks.Client, key string, ttl time.Duration) (locks.Lock, error) {
				l := single{c, key, ttl}
				return steps{
					func(ctx context.Context) (locks.Lease, error) {
						asked := l.c.Now()
						lease, err := acquire(ctx, l)
						lease.Deadline = asked.Add(ttl)
						return lease, err
					},
					l.unlock,
				}, nil
			}
		}
		return Mutant{ID: "mutant-" + id, Of: "set-nx-px-wait", Doc: doc, scripts: []*script{compareAndDelete},
			lock: lock(acquire), control: lock(acknowledged)}
	}
	return []Mutant{
		mutant("acknowledgements-ignored", "the acquire ignores how many replicas acknowledged the key", func(ctx context.Context, l single) (locks.Lease, error) {
			lease, err := l.tryLock(ctx)
			if err != nil {
				return lease, err
			}
			return lease, l.node().Do(ctx, "WAIT", 1, waitFor(l.ttl)).Err()
		}),
		mutant("wait-before-set", "WAIT comes before the SET, so it waits for nothing", func(ctx context.Context, l single) (locks.Lease, error) {
			acked, err := l.node().Do(ctx, "WAIT", 1, waitFor(l.ttl)).Int64()
			if err != nil {
				return locks.Lease{}, err
			}
			if acked < 1 {
				return locks.Lease{}, locks.ErrBusy
			}
			return l.tryLock(ctx)
		}),
	}
}
