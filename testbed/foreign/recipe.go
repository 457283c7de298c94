package foreign

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
)

// Recipe returns the recipe of the lock that this command line serves. Its claims are the abilities,
// which Probe finds out.
func Recipe(id string, argv []string, able Abilities) locks.Recipe {
	topology := locks.Single
	if able.Independent {
		topology = locks.Independent
	}
	return locks.Recipe{
		ID: id, Own: true, Apart: true, Summary: strings.Join(argv, " "), Topology: topology,
		Claims: func(ttl time.Duration, nodes int) history.Claims {
			return history.Claims{
				Quorum: nodes/2 + 1, TTL: ttl, Recovery: ttl, Extends: able.Extend, Fenced: able.Fence,
				ReadWrite: able.Readers, Reentrant: able.Reentrant, Waits: able.Blocking,
			}
		},
		Flaws: locks.Limits(locks.Known{Deadlines: able.Until, Fenced: able.Fence, Reentrant: able.Reentrant}),
		New: func(c *locks.Client) (locks.Maker, error) {
			make, _, err := Start(c, argv)
			return make, err
		},
	}
}

// Start starts the command for the client. The child ends with the client's context. An error is one line
// that says what the child did, with the end of its standard error.
func Start(c *locks.Client, argv []string) (locks.Maker, Abilities, error) {
	p, err := start(c, argv)
	if err != nil {
		return nil, Abilities{}, err
	}
	return p.maker, *p.able, nil
}

// Probe starts the command for the client, returns what its lock can do, and ends it.
func Probe(c *locks.Client, argv []string) (Abilities, error) {
	p, err := start(c, argv)
	if err != nil {
		return Abilities{}, err
	}
	defer p.kill()
	return *p.able, nil
}

// maker implements locks.Maker.
func (p *process) maker(key string, ttl time.Duration) (locks.Lock, error) {
	if key == "" || ttl < time.Millisecond {
		return nil, errors.New("expected a lock's name and a lease time of at least 1ms")
	}
	h := handle{p, request{Key: key, TTL: ttl.Milliseconds(), Mode: "write"}}
	if p.able.Readers {
		return readWrite{h}, nil
	}
	return h.lock(), nil
}

// handle is a client's handle on a lock in one mode.
type handle struct {
	p *process
	r request
}

// lock returns the handle as a lock that waits, if the child's locks do.
func (h handle) lock() locks.Lock {
	if h.p.able.Blocking {
		return blocking{h}
	}
	return h
}

var _ locks.Extender = handle{}

// TryLock implements locks.Lock.
func (h handle) TryLock(ctx context.Context) (locks.Lease, error) {
	h.r.Do = "acquire"
	a, err := h.p.call(ctx, h.r)
	l := locks.Lease{Token: a.Token, Fence: a.Fence}
	if err != nil {
		h.p.mu.Lock()
		delete(h.p.lost, a.ID)
		h.p.mu.Unlock()
		return l, err
	}
	l.LostC = h.p.granted(a.ID)
	return a.lasting(l), nil
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

// lease returns the request that granted the lease; 0 = none.
func (p *process) lease(l locks.Lease) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.grants[l.LostC]
}

// Unlock implements locks.Lock.
func (h handle) Unlock(ctx context.Context, l locks.Lease) error {
	if h.r.Do, h.r.Lease = "release", h.p.lease(l); h.r.Lease == 0 {
		return locks.ErrRefused
	}
	_, err := h.p.call(ctx, h.r)
	return err
}

// Extend implements locks.Extender.
func (h handle) Extend(ctx context.Context, l locks.Lease) (locks.Lease, error) {
	if h.r.Do, h.r.Lease = "extend", h.p.lease(l); h.r.Lease == 0 {
		return l, locks.ErrRefused
	}
	a, err := h.p.call(ctx, h.r)
	return a.lasting(l), err
}

// blocking is a handle on a lock that waits.
type blocking struct{ handle }

var _ locks.Blocker = blocking{}

// Lock implements locks.Blocker.
func (b blocking) Lock(ctx context.Context) (locks.Lease, error) { return b.TryLock(ctx) }

// readWrite is a handle on a read-write lock.
type readWrite struct{ handle }

var _ locks.RWLocker = readWrite{}

// Read implements locks.RWLocker.
func (w readWrite) Read() locks.Lock {
	w.r.Mode = "read"
	return w.lock()
}

// Write implements locks.RWLocker.
func (w readWrite) Write() locks.Lock { return w.lock() }
