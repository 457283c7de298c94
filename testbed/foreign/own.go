package foreign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// Own describes a child that is a program of Lockstorm and serves a recipe in Go.
type Own struct {
	Argv  []string // a program that calls Serve
	Route Route
	// Connect connects to the addresses that the route names.
	Connect func(ctx context.Context, addr string) (net.Conn, error)
	// Stalled is called when the child was not scheduled for some milliseconds, with the part of this time
	// that no freeze explains. Calls do not overlap.
	Stalled func(late time.Duration)
}

// ownReadyWithin is more than the child's own limit, which tells more.
const ownReadyWithin = 2 * warmingTimeout

// ownOutput is how much of the child's output is kept, in bytes, at the beginning and again at the end.
const ownOutput = 256 << 10

// Child is a child of this program's own. It ends with its client's context. A call to a lock in it panics
// with a testbed.Elsewhere if the code under test, or something outside of the trial, ends the child.
type Child struct{ p *process }

// StartOwn starts a child for the client in real time, and returns when it has its connections.
func StartOwn(c *locks.Client, o Own) (Child, error) {
	known := slices.Concat(o.Route.Addrs, o.Route.Nodes, o.Route.Sentinels)
	slices.Sort(known)
	known = slices.Compact(known)
	text, err := json.Marshal(path{o.Route, known})
	if err != nil {
		return Child{}, fmt.Errorf("encode the route of a client: %w", err)
	}
	reaching := *c
	reaching.Addrs, reaching.Dial = known, func(ctx context.Context, _, addr string) (net.Conn, error) { return o.Connect(ctx, addr) }
	p := newProcess(o.Argv)
	p.own, p.within, p.stderr.Limit = &own{stalled: o.Stalled}, ownReadyWithin, ownOutput
	err = p.startReal(&reaching, routeVariable+"="+string(text), "GOTRACEBACK=all")
	return Child{p}, err
}

// Bind makes the child bind the recipe that the job describes (Serve).
func (c Child) Bind(ctx context.Context, job []byte) (locks.Maker, error) {
	if _, err := c.p.call(ctx, request{Do: "bind", exact: exact{Job: job}}); err != nil {
		return nil, err
	}
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		r := request{Do: "make", Key: key, TTL: ttl.Milliseconds()}
		a, err := c.p.call(ctx, r)
		if err != nil {
			return nil, err
		}
		h := exactHandle{handle{c.p, r}}
		if a.Made.Read == nil {
			return h.of("", a.Made), nil
		}
		return exactReadWrite{h.of("", a.Made), h.of("read", a.Made.Read), h.of("write", a.Made.Write)}, nil
	}, nil
}

// Settle returns when the child's stalls until now have been reported, if it lives. The error says how the
// child ended, unless it was killed on purpose: a *testbed.Breakdown, or the harness's own error.
func (c Child) Settle() error {
	if _, ended := c.p.ask(context.Background(), request{Do: "look"}); !ended {
		return nil
	}
	if e := c.p.ownEnd(); e != nil {
		return e.Err
	}
	return nil
}

// own is what the parent knows of a child of this program besides.
type own struct {
	stalled func(late time.Duration)

	mu     sync.Mutex
	frozen []stall // intervals without end are still open
}

// freeze notes a freeze or a thaw.
func (o *own) freeze(on bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	open := len(o.frozen) > 0 && o.frozen[len(o.frozen)-1].To == 0
	switch {
	case on && !open:
		o.frozen = append(o.frozen, stall{From: monotonic()})
	case !on && open:
		o.frozen[len(o.frozen)-1].To = monotonic()
	}
}

// stall reports the part of a child's stall that no freeze explains.
func (o *own) stall(s stall) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.frozen {
		if f.To == 0 {
			f.To = s.To
		}
		s.Late -= max(0, min(f.To, s.To)-max(f.From, s.From))
	}
	o.stalled(s.Late)
}

// bound tells the child when the call's context ends, however the call ends: the lock may use the context for
// longer.
func (p *process) bound(ctx context.Context, r *request) {
	if at, ok := ctx.Deadline(); ok {
		r.Deadline = int64(monotonic() + time.Until(at))
	}
	id := r.ID
	context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			p.send(request{Cancel: id})
		}
	})
}

// ownEnd says how an ended child ended; nil if it was killed on purpose.
func (p *process) ownEnd() *testbed.Elsewhere {
	err := p.why("during the trial")
	if errors.Is(err, errKilled) {
		return nil
	}
	state := p.cmd.ProcessState
	d := crash.Death{How: state.String(), Exited: state.Exited()}
	d.Stderr, d.Cut = p.stderr.Text()
	p.mu.Lock()
	broken := p.broken
	p.mu.Unlock()
	if broken != nil {
		d.Killed = crash.Garbled
	}
	b, failure := d.Breakdown()
	if failure != nil {
		return &testbed.Elsewhere{Err: fmt.Errorf("%w: %w", err, failure)}
	}
	b.Stack = d.Stderr
	return &testbed.Elsewhere{Err: b}
}

// exactHandle is a handle on a lock in Go. Unlike the lock of another language, it has the lock's own leases,
// errors and contexts.
type exactHandle struct{ handle }

var (
	_ locks.Extender    = exactHandle{}
	_ locks.TokenLocker = exactHandle{}
)

// of returns the handle in a mode, with the abilities of the lock.
func (h exactHandle) of(mode string, m *made) locks.Lock {
	h.r.Mode = mode
	switch {
	case m.Blocks:
		return exactBlocker{h}
	case m.Polls:
		return exactPoller{h}
	}
	return h
}

func (h exactHandle) acquire(ctx context.Context) (locks.Lease, error) {
	h.r.Do = "acquire"
	a, err := h.p.call(ctx, h.r)
	l := a.exactLease(locks.Lease{})
	if err == nil && (a.Told || l != locks.Lease{}) { // else the lock knows its lease without
		l.LostC = h.p.granted(a.ID)
	}
	return l, err
}

// exactLease returns the lease that the answer describes, with the channel of the given one.
func (a answer) exactLease(l locks.Lease) locks.Lease {
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

// TryLock implements locks.Lock.
func (h exactHandle) TryLock(ctx context.Context) (locks.Lease, error) { return h.acquire(ctx) }

// TryLockWith implements locks.TokenLocker. A lock that chooses its tokens ignores the token.
func (h exactHandle) TryLockWith(ctx context.Context, token string) (locks.Lease, error) {
	h.r.Own = &token
	return h.acquire(ctx)
}

// Unlock implements locks.Lock.
func (h exactHandle) Unlock(ctx context.Context, l locks.Lease) error {
	if h.r.Do, h.r.Lease = "release", h.p.lease(l); h.r.Lease == 0 && l != (locks.Lease{}) {
		return locks.ErrRefused
	}
	_, err := h.p.call(ctx, h.r)
	return err
}

// Extend implements locks.Extender.
func (h exactHandle) Extend(ctx context.Context, l locks.Lease) (locks.Lease, error) {
	if h.r.Do, h.r.Lease = "extend", h.p.lease(l); h.r.Lease == 0 && l != (locks.Lease{}) {
		return l, locks.ErrRefused
	}
	a, err := h.p.call(ctx, h.r)
	return a.exactLease(l), err
}

// exactBlocker is a handle on a lock that waits in its own way.
type exactBlocker struct{ exactHandle }

// Lock implements locks.Blocker.
func (b exactBlocker) Lock(ctx context.Context) (locks.Lease, error) {
	b.r.Wait = true
	return b.acquire(ctx)
}

// exactPoller is a handle on a lock that waits by bounded polling.
type exactPoller struct{ exactHandle }

// Poll implements locks.Poller.
func (exactPoller) Poll(ctx context.Context, attempts locks.Lock, interval time.Duration, maximum int) (locks.Lease, error) {
	return locks.Poll(ctx, attempts, interval, maximum)
}

// exactReadWrite is a handle on a read-write lock.
type exactReadWrite struct {
	locks.Lock
	read, write locks.Lock
}

// Read implements locks.RWLocker.
func (w exactReadWrite) Read() locks.Lock { return w.read }

// Write implements locks.RWLocker.
func (w exactReadWrite) Write() locks.Lock { return w.write }
