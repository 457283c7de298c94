package locks

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Wait acquires a lock with D0's ticker loop: one attempt at once, another at
// each tick of interval while the lock is busy. It returns at once when the
// lock is held and on any error other than ErrBusy, which is then TryLock's own
// result, lease included.
//
// When ctx ends between attempts, the error is both ErrBusy, since the lock was
// certainly not acquired, and ctx's error. A lock that waits in a way of its
// own (Blocker) does so instead, and interval is not used.
func Wait(ctx context.Context, l Lock, interval time.Duration) (Lease, error) {
	if b, ok := l.(Blocker); ok {
		return b.Lock(ctx)
	}
	if interval <= 0 {
		return Lease{}, fmt.Errorf("%w: retry interval %v is not positive", ErrRefused, interval)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		lease, err := l.TryLock(ctx)
		if !errors.Is(err, ErrBusy) {
			return lease, err
		}
		if err := pause(ctx, ticker.C); err != nil {
			return Lease{}, err
		}
	}
}

// Poll acquires a lock with D1's bounded polling: attempts are interval apart, and, as
// in D1's loop, a maximum of N means N−1 attempts. It returns at once when the lock is
// held and, with TryLock's result, on any error other than ErrBusy. After the last
// attempt it returns ErrBusy; when ctx ends between attempts, ErrBusy and ctx's error.
// A maximum that allows no attempt is ErrRefused. Poll uses TryLock even for a Blocker,
// because it promises a number of attempts.
func Poll(ctx context.Context, l Lock, interval time.Duration, maximum int) (Lease, error) {
	if maximum < 2 {
		return Lease{}, fmt.Errorf("%w: a maximum of %d allows no attempt", ErrRefused, maximum)
	}
	for attempt := 1; ; attempt++ {
		lease, err := l.TryLock(ctx)
		if !errors.Is(err, ErrBusy) || attempt == maximum-1 {
			return lease, err
		}
		timer := time.NewTimer(interval)
		err = pause(ctx, timer.C)
		timer.Stop()
		if err != nil {
			return Lease{}, err
		}
	}
}

// pause waits for tick after a busy attempt. If both are ready, ctx wins: an attempt
// with an ended context would turn busy into unknown.
func pause(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
	case <-tick:
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: stopped waiting: %w", ErrBusy, err)
	}
	return nil
}
