package locks

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Results of TryLock and Unlock other than success. Any error that is none of
// these means *unknown*: the command may or may not have run. Where a document's code reads
// no reply to a release, neither does its recipe, and says so: its success is the document's
// word, not certain.
var (
	// ErrBusy: not acquired, somebody else holds the lock. Certain, unless the error is
	// ErrPresumed too. On several nodes the client's own count decides: without enough
	// grants in time the lock is not acquired, whatever became of single nodes.
	ErrBusy = errors.New("lock is busy")
	// ErrPresumed comes with ErrBusy, and with the error that happened: the document's code
	// takes that error for a refusal. The caller does what it does when the lock is busy,
	// but the outcome is unknown: Redis may have granted the lock.
	ErrPresumed = errors.New("presumed after an error")
	// ErrRefused: the recipe refused without asking Redis; certainly nothing happened.
	ErrRefused = errors.New("refused by the lock handle")
	// ErrNotHeld: the lock is certainly not held by this owner (any more).
	ErrNotHeld = errors.New("lock is not held")
)

// presumed returns ErrBusy for an attempt that failed with err, which the document's code
// takes for a refusal.
func presumed(err error) error { return fmt.Errorf("%w: %w: %w", ErrBusy, ErrPresumed, err) }

// Lock is one client's handle on one named lock. A handle may be used by
// several goroutines unless its recipe says otherwise.
type Lock interface {
	// TryLock makes one attempt. The error is nil (held), ErrBusy, ErrRefused, or any other
	// for an unknown outcome. Then, and with ErrPresumed, the Lease still has the token
	// that was sent, if any.
	TryLock(ctx context.Context) (Lease, error)
	// Unlock gives the lease back. ErrNotHeld: certainly not ours (any more).
	// Any other error: unknown.
	Unlock(ctx context.Context, l Lease) error
}

// Lease is a holder's knowledge of its hold.
type Lease struct {
	// Token is the random value that identifies the hold in Redis, if the recipe has one.
	Token string
	// Fence is the fencing token, greater than that of all earlier grants; 0 = none.
	Fence int64
	// Deadline is when the claimed exclusion ends: an instant on the client's own wall
	// clock (Client.Now); zero = at release.
	Deadline time.Time
	// Monotonic: Deadline counts on the client's monotonic clock instead, which is never
	// set wrong: it is an instant of time.Now.
	Monotonic bool
	// LostC is closed when the recipe learns that the hold ended early; nil for recipes
	// that never report it.
	LostC <-chan struct{}
}

// Lost returns a channel that is closed when the recipe learns that the hold ended early.
// The channel is nil, which blocks for ever, if the recipe never reports that.
func (l Lease) Lost() <-chan struct{} { return l.LostC }

// Extender is implemented by locks whose lease can be prolonged on demand; their
// recipes say so in Claims.Extends.
type Extender interface {
	// Extend makes the lease last for the lock's TTL from now on and returns it with
	// its token and fence, and a new deadline if leases of this lock have one.
	// ErrNotHeld: certainly not ours (any more). Any other error: unknown. With an
	// error, the returned lease is meaningless.
	Extend(ctx context.Context, l Lease) (Lease, error)
}

// TokenLocker is implemented by locks whose caller may choose the token, for example
// the name of its instance or request.
type TokenLocker interface {
	// TryLockWith is TryLock with the given token, which must be unique to the caller.
	TryLockWith(ctx context.Context, token string) (Lease, error)
}

// RWLocker is implemented by read-write locks. The handles share one owner.
type RWLocker interface {
	Read() Lock
	Write() Lock
}

// Poller is implemented by locks that their document makes blocking by bounded polling
// (D1); for others use Wait.
type Poller interface {
	// Poll calls attempts.TryLock like the function Poll. Attempts is this lock, or a
	// wrapper that watches each of its attempts.
	Poll(ctx context.Context, attempts Lock, interval time.Duration, maximum int) (Lease, error)
}

// Blocker is implemented by locks with their own waiting strategy (publish/subscribe). For
// locks that are neither Blocker nor Poller, use Wait. If the recipe claims
// history.Claims.Waits, TryLock of its Blocker waits too.
type Blocker interface {
	// Lock returns when the lock is held, ctx is done, or at once on any error
	// other than ErrBusy.
	Lock(ctx context.Context) (Lease, error)
}
