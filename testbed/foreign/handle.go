package foreign

import (
	"context"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// handle is a client's handle on a lock in one mode.
type handle struct {
	p *process
	r request
}

var (
	_ locks.Extender    = handle{}
	_ locks.TokenLocker = handle{}
)

// handles returns the handle with the abilities of the child's handles; mode is that of a lock that is no
// read-write lock.
func (h handle) handles(mode string, m *made) locks.Lock {
	l := h.lock(mode, m)
	if m.Read == nil {
		return l
	}
	return readWrite{l, h.lock("read", m.Read), h.lock("write", m.Write)}
}

// lock returns the handle in a mode.
func (h handle) lock(mode string, m *made) locks.Lock {
	h.r.Mode = mode
	switch {
	case m.Blocks:
		return blocking{h}
	case m.Polls:
		return polling{h}
	}
	return h
}

// TryLock implements locks.Lock.
func (h handle) TryLock(ctx context.Context) (locks.Lease, error) {
	h.r.Do = "acquire"
	a, err := h.p.call(ctx, h.r)
	l := a.lease(locks.Lease{})
	if err != nil {
		h.p.mu.Lock()
		delete(h.p.lost, a.ID)
		h.p.mu.Unlock()
		return l, err
	}
	if h.p.own == nil || a.Told || l != (locks.Lease{}) { // else the lock in the child gave a bare lease, and gets it back
		l.LostC = h.p.granted(a.ID)
	}
	return a.lasting(l), nil
}

// TryLockWith implements locks.TokenLocker. A lock that chooses its tokens ignores the token.
func (h handle) TryLockWith(ctx context.Context, token string) (locks.Lease, error) {
	if h.p.own != nil {
		h.r.Own = &token
	}
	return h.TryLock(ctx)
}

// lease returns the lease that the answer describes, with the channel of the given one.
func (a answer) lease(l locks.Lease) locks.Lease {
	l = locks.Lease{Token: a.Token, Fence: a.Fence, LostC: l.LostC}
	if a.Raw != nil {
		l.Token = string(a.Raw)
	}
	switch {
	case a.Steady != 0:
		l.Deadline, l.Monotonic = time.Now().Add(time.Duration(a.Steady)-monotonic()), true
	case a.Wall != 0:
		l.Deadline = time.Unix(0, a.Wall)
	}
	return l
}

// lasting sets the lease's deadline, if the child tells how long the lease lasts.
func (a answer) lasting(l locks.Lease) locks.Lease {
	if a.Until != 0 {
		l.Deadline, l.Monotonic = time.Now().Add(time.Duration(a.Until)*time.Millisecond), true
	}
	return l
}

// granted returns the channel that is closed when the child says that the lease is lost.
func (p *process) granted(id int64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.lost[id]
	if c == nil { // lost already
		c = make(chan struct{})
		close(c)
	}
	p.grants[c] = id
	return c
}

// of prepares a request about a lease; ok is false if the child has not granted it.
func (h *handle) of(do string, l locks.Lease) (ok bool) {
	h.p.mu.Lock()
	defer h.p.mu.Unlock()
	h.r.Do, h.r.Lease = do, h.p.grants[l.LostC]
	return h.r.Lease != 0 || h.p.own != nil && l == (locks.Lease{})
}

// Unlock implements locks.Lock.
func (h handle) Unlock(ctx context.Context, l locks.Lease) error {
	if !h.of("release", l) {
		return locks.ErrRefused
	}
	_, err := h.p.call(ctx, h.r)
	return err
}

// Extend implements locks.Extender.
func (h handle) Extend(ctx context.Context, l locks.Lease) (locks.Lease, error) {
	if !h.of("extend", l) {
		return l, locks.ErrRefused
	}
	a, err := h.p.call(ctx, h.r)
	if h.p.own == nil { // the lease keeps its token and fencing token
		return a.lasting(l), err
	}
	return a.lease(l), err
}

// blocking is a handle on a lock that waits in its own way.
type blocking struct{ handle }

var _ locks.Blocker = blocking{}

// Lock implements locks.Blocker.
func (b blocking) Lock(ctx context.Context) (locks.Lease, error) {
	b.r.Wait = b.p.own != nil
	return b.TryLock(ctx)
}

// polling is a handle on a lock that waits by bounded polling.
type polling struct{ handle }

var _ locks.Poller = polling{}

// Poll implements locks.Poller.
func (polling) Poll(ctx context.Context, attempts locks.Lock, interval time.Duration, maximum int) (locks.Lease, error) {
	return locks.Poll(ctx, attempts, interval, maximum)
}

// readWrite is a handle on a read-write lock.
type readWrite struct {
	locks.Lock
	read, write locks.Lock
}

var _ locks.RWLocker = readWrite{}

// Read implements locks.RWLocker.
func (w readWrite) Read() locks.Lock { return w.read }

// Write implements locks.RWLocker.
func (w readWrite) Write() locks.Lock { return w.write }
