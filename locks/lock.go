package locks

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Results of TryLock and Unlock other than success. Any other error means that the outcome is
// unknown: the command may or may not have run. Some documents ignore the reply to a release. The
// recipes of these documents ignore the reply too: a nil from their Unlock does not prove that the
// lock was released. The comment of such a recipe says so.
var (
	// ErrBusy: not acquired. Usually somebody else holds the lock; a grant that came too late, or
	// from too few nodes, is ErrBusy too. ErrBusy is certain unless the error is also ErrPresumed.
	// On several nodes the client counts the grants itself: without enough grants in time it has
	// not acquired the lock, even if some nodes have its key.
	ErrBusy = errors.New("lock is busy")
	// ErrPresumed accompanies ErrBusy if an attempt failed, for example with a lost connection, and
	// the document's code takes that error for a refusal. The caller acts as if the lock were busy,
	// but the outcome is unknown: Redis may have granted the lock.
	ErrPresumed = errors.New("presumed after an error")
	// ErrRefused: the recipe refused without asking Redis. Certainly nothing happened.
	ErrRefused = errors.New("refused by the lock handle")
	// ErrNotHeld: this owner certainly does not hold the lock now.
	ErrNotHeld = errors.New("lock is not held")
)

// presumed returns the error of an attempt that failed with err, where the document's code takes
// err for a refusal. The result is ErrBusy, ErrPresumed and err.
func presumed(err error) error { return fmt.Errorf("%w: %w: %w", ErrBusy, ErrPresumed, err) }

// Lock is one client's handle on one named lock. A handle may be used by several goroutines unless its
// recipe says otherwise.
type Lock interface {
	// TryLock makes one attempt. The error is nil (held), ErrBusy or ErrRefused; after any other
	// error the outcome is unknown. With such an error, or with ErrPresumed, the Lease still has
	// the token that was sent, if any.
	TryLock(ctx context.Context) (Lease, error)
	// Unlock releases the lease. ErrNotHeld: the caller certainly does not hold the lock now.
	// ErrRefused: nothing was sent. Any other error: the outcome is unknown.
	Unlock(ctx context.Context, l Lease) error
}

// Lease is a holder's knowledge of its hold on a lock.
type Lease struct {
	// Token is the value that identifies the hold or its owner in Redis, usually a random one; "" if
	// the recipe has none.
	Token string
	// Fence is the fencing token, greater than the tokens of all earlier grants; 0 = none.
	Fence int64
	// Deadline is when the holder must stop relying on the lock, an instant on the client's own wall
	// clock (Client.Now). The zero time means that the holder relies on the lock until the release.
	Deadline time.Time
	// Monotonic: Deadline is an instant of time.Now instead, on the client's monotonic clock.
	// Nobody can set that clock wrong.
	Monotonic bool
	// LostC is closed when the recipe knows that the hold is over, for example because its deadline
	// is past or a renewal found the key gone; nil if the recipe never reports that.
	LostC <-chan struct{}
}

// Lost returns LostC, a channel that is closed when the recipe knows that the hold is over. The
// channel is nil, so that a receive blocks for ever, if the recipe never reports that.
func (l Lease) Lost() <-chan struct{} { return l.LostC }

// Extender is implemented by locks whose lease can be prolonged on demand. Their recipes set
// Claims.Extends.
type Extender interface {
	// Extend makes the lease last for the lock's TTL from now on. It returns the lease with its
	// token and fencing token, and with a new deadline if leases of this lock have deadlines.
	// ErrNotHeld: the caller certainly does not hold the lock now. Any other error: the outcome is
	// unknown. With an error, the returned lease is meaningless.
	Extend(ctx context.Context, l Lease) (Lease, error)
}

// TokenLocker is implemented by locks whose caller may choose the token, for example the name of its
// instance or request.
type TokenLocker interface {
	// TryLockWith is TryLock with the given token, which must be unique to the caller.
	TryLockWith(ctx context.Context, token string) (Lease, error)
}

// RWLocker is implemented by read-write locks. The handles that Read and Write return share one
// owner.
type RWLocker interface {
	Read() Lock
	Write() Lock
}

// Poller is implemented by locks whose document makes them wait by bounded polling (D1). For other
// locks use Wait.
type Poller interface {
	// Poll calls attempts.TryLock again and again, like the function Poll. The argument attempts is
	// this lock, or a wrapper that watches each attempt of this lock.
	Poll(ctx context.Context, attempts Lock, interval time.Duration, maximum int) (Lease, error)
}

// Blocker is implemented by locks with their own waiting strategy, such as publish/subscribe. For
// locks that are neither Blocker nor Poller, use Wait. If the recipe claims history.Claims.Waits,
// TryLock of its Blocker waits too.
type Blocker interface {
	// Lock waits until the lock is held or ctx is done. It returns at once on any error other
	// than ErrBusy. If the recipe limits its wait, Lock returns ErrBusy at the end of that limit.
	Lock(ctx context.Context) (Lease, error)
}
