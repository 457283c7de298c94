package locks

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Wait acquires a lock with D0's ticker loop: one attempt at once, and another attempt at each tick
// of interval while the lock is busy. When the lock is held, or after any error other than ErrBusy,
// Wait returns TryLock's own result at once, lease included.
//
// When ctx ends between attempts, Wait returns the last attempt's lease, and an error that is both
// the last attempt's and ctx's. An interval that is not positive is ErrRefused. For a Blocker, Wait
// calls Lock instead and ignores interval.
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
		if err := pause(ctx, ticker.C, err); err != nil {
			return lease, err
		}
	}
}

// Poll acquires a lock by D1's bounded polling. Like D1's loop, it makes maximum-1 attempts and
// sleeps for interval after each busy attempt, the last one included. It returns TryLock's result
// at once after success or an error other than ErrBusy. After the last attempt it returns that
// attempt's result, or ErrBusy if there was no attempt. If ctx ends during a sleep, it returns the
// last attempt's result with ctx's error. Poll also polls a Blocker by TryLock, because Poll
// promises a number of attempts.
func Poll(ctx context.Context, l Lock, interval time.Duration, maximum int) (Lease, error) {
	lease, busy := Lease{}, ErrBusy
	for range maximum - 1 {
		if lease, busy = l.TryLock(ctx); !errors.Is(busy, ErrBusy) {
			return lease, busy
		}
		timer := time.NewTimer(interval)
		err := pause(ctx, timer.C, busy)
		timer.Stop()
		if err != nil {
			return lease, err
		}
	}
	return lease, fmt.Errorf("%w: no attempt is left", busy)
}

// polling implements Poller for the locks that embed it.
type polling struct{}

// Poll implements Poller.
func (polling) Poll(ctx context.Context, attempts Lock, interval time.Duration, maximum int) (Lease, error) {
	return Poll(ctx, attempts, interval, maximum)
}

// pause waits for tick after an attempt that failed because the lock is busy; the parameter busy is that
// attempt's error. If ctx has ended, pause returns an error, even if tick is ready. Another attempt on the
// ended context would have an unknown outcome, but so far it is known that the lock is busy.
func pause(ctx context.Context, tick <-chan time.Time, busy error) error {
	select {
	case <-ctx.Done():
	case <-tick:
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: stopped waiting: %w", busy, err)
	}
	return nil
}
