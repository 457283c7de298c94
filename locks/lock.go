// Package locks holds the lock recipes of the source documents, each in one file and
// exactly as its document describes it, flaws included, and the registry that lists
// them.
//
// Recipes use go-redis and the standard time package like any service, and nothing in
// them knows of tests. Only the wall clock is handed in, because some recipes trust it.
package locks

import (
	"context"
	"errors"
	"time"
)

// Results of TryLock and Unlock other than success. Any error that is none of
// these means *unknown*: the command may or may not have run.
var (
	// ErrBusy: certainly not acquired, somebody else holds the lock.
	ErrBusy = errors.New("lock is busy")
	// ErrRefused: the recipe refused without asking Redis; certainly nothing happened.
	ErrRefused = errors.New("refused by the lock handle")
	// ErrNotHeld: the lock is certainly not held by this owner (any more).
	ErrNotHeld = errors.New("lock is not held")
)

// Lock is one client's handle on one named lock. A handle may be used by
// several goroutines unless its recipe says otherwise.
type Lock interface {
	// TryLock makes one attempt. It returns nil (held), ErrBusy, ErrRefused,
	// or any other error for unknown; then the Lease still carries the token
	// that was sent, if one was.
	TryLock(ctx context.Context) (Lease, error)
	// Unlock gives the lease back. ErrNotHeld: certainly not ours (any more).
	// Any other error: unknown.
	Unlock(ctx context.Context, l Lease) error
}

// Lease is what a holder knows of its hold.
type Lease struct {
	// Token is the random value that identifies the hold in Redis, if the recipe has one.
	Token string
	// Fence is the fencing token, greater than that of all earlier grants; 0 = none.
	Fence int64
	// Deadline is when the claimed exclusion ends: an instant on the client's own wall
	// clock (Client.Now); zero = at release.
	Deadline time.Time
	// LostC is closed when the recipe learns that the hold ended early; nil
	// for recipes that never tell.
	LostC <-chan struct{}
}

// Lost returns a channel that is closed when the recipe learns that the hold
// ended early. It blocks for ever (nil) where the recipe never tells.
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
	// TryLockWith is TryLock with that token, which must be unique to the caller.
	TryLockWith(ctx context.Context, token string) (Lease, error)
}

// RWLocker is implemented by read-write locks. The handles share one owner.
type RWLocker interface {
	Read() Lock
	Write() Lock
}

// Blocker is implemented by locks with a waiting strategy of their own
// (publish/subscribe); for all others use Wait or Poll.
type Blocker interface {
	// Lock returns when the lock is held, ctx is done, or at once on any error
	// other than ErrBusy.
	Lock(ctx context.Context) (Lease, error)
}
