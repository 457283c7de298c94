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
	Route testbed.Route
	// CommandTimeout is the read and write timeout of the connections.
	CommandTimeout time.Duration
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
	text, err := json.Marshal(path{o.Route, o.CommandTimeout, known})
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
	if _, err := c.p.call(ctx, request{Do: "bind", ownRequest: ownRequest{Job: job}}); err != nil {
		return nil, err
	}
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		r := request{Do: "make", Key: key, TTL: ttl.Milliseconds()}
		a, err := c.p.call(ctx, r)
		if err != nil {
			return nil, err
		}
		return handle{c.p, r}.handles("", a.Made), nil
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
