package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// Errors of an invalid Subject, and errors for operations that the lock does not have. traitsOf
// reads some of them from the history.
var (
	errNoSubject = errors.New("locktest: the Subject is nil: expected a function that makes the lock for one client")
	errNoAcquire = errors.New("the Subject returned a nil Acquire and no error: expected the function that acquires the lock")
	errNoReaders = errors.New("Client.Readers was called with nil: expected the function that acquires the lock for reading")
	errNoRelease = errors.New("Acquire returned neither an error nor Held.Release")
	errNoExtend  = errors.New("the lock has no Held.Extend")
	errReaders   = errors.New("the lock has readers too: Client.Readers was called")
)

// handle is a client's handle on a named lock. It keeps the Held of each grant until Unlock.
type handle struct {
	acquire Acquire
	key     string
	ttl     time.Duration
	// monotonic: a deadline that does not show its clock is of the monotonic clock.
	monotonic bool

	mu   sync.Mutex
	held []grant // the latest grant is last
}

// grant is a lease with the Held that Acquire returned for it.
type grant struct {
	lease locks.Lease
	Held
}

var _ locks.Extender = (*handle)(nil)

// TryLock implements locks.Lock.
func (h *handle) TryLock(ctx context.Context) (locks.Lease, error) {
	held, err := h.acquire(ctx, h.key, h.ttl)
	if err != nil {
		return locks.Lease{Token: held.Token}, err
	}
	lease := h.lease(held)
	if held.Release == nil {
		return lease, errNoRelease
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = append(h.held, grant{lease, held})
	return lease, nil
}

// lease returns what the holder knows of its lease: token, fencing token, deadline, and the channel
// that reports a loss. A deadline in the time zone of Client.Now is of that clock, and one with a
// monotonic reading is of time.Now, which has such readings outside of bubbles. For any other deadline
// the options say which clock it is of.
func (h *handle) lease(held Held) locks.Lease {
	l := locks.Lease{Token: held.Token, Fence: held.Fence, LostC: held.Lost}
	if held.Until != nil {
		l.Deadline = held.Until()
		l.Monotonic = l.Deadline.Location() != wallZone && (h.monotonic || l.Deadline != l.Deadline.Round(0))
	}
	return l
}

// find returns the latest grant with this lease. It removes the grant if take is set.
func (h *handle) find(l locks.Lease, take bool) (grant, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.held) - 1; i >= 0; i-- {
		if g := h.held[i]; g.lease == l {
			if take {
				h.held = append(h.held[:i:i], h.held[i+1:]...)
			}
			return g, true
		}
	}
	return grant{}, false
}

// Unlock implements locks.Lock.
func (h *handle) Unlock(ctx context.Context, l locks.Lease) error {
	g, ok := h.find(l, true)
	if !ok {
		return ErrNotHeld
	}
	return g.Release(ctx)
}

// Extend implements locks.Extender.
func (h *handle) Extend(ctx context.Context, l locks.Lease) (locks.Lease, error) {
	g, ok := h.find(l, false)
	switch {
	case !ok:
		return l, ErrNotHeld
	case g.Extend == nil:
		return l, errNoExtend
	}
	if err := g.Extend(ctx); err != nil {
		return l, err
	}
	longer := h.lease(g.Held)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.held {
		if h.held[i].lease == l {
			h.held[i].lease = longer
		}
	}
	return longer, nil
}

// blockingHandle is a handle whose Acquire waits.
type blockingHandle struct{ *handle }

var _ locks.Blocker = blockingHandle{}

// Lock implements locks.Blocker.
func (h blockingHandle) Lock(ctx context.Context) (locks.Lease, error) { return h.TryLock(ctx) }

type rwHandle struct {
	locks.Lock // for writing
	read       locks.Lock
}

var _ locks.RWLocker = rwHandle{}

// Read implements locks.RWLocker.
func (h rwHandle) Read() locks.Lock { return h.read }

// Write implements locks.RWLocker.
func (h rwHandle) Write() locks.Lock { return h.Lock }
