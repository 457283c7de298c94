package foreign_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed/foreign"
)

// asChild is an environment variable. A test program that finds it set serves probes.
const asChild = "LOCKSTORM_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(m.Run())
	}
	if err := foreign.Serve(context.Background(), bind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// bind makes probes. If the job is a panic, it does not return.
func bind(job []byte, c *locks.Client) (locks.Maker, error) {
	switch string(job) {
	case `"refuses"`:
		return nil, errors.New("no such recipe")
	case `"panics"`:
		panic("unbound")
	}
	return func(key string, ttl time.Duration) (locks.Lock, error) {
		if key == "none" {
			return nil, errors.New("no lock of this name")
		}
		p := &probe{c: c, key: key, ttl: ttl}
		switch key {
		case "read-write":
			return readWrite{p}, nil
		case "waits":
			return waiting{p}, nil
		}
		return p, nil
	}, nil
}

// probe is a lock that does what its name says.
type probe struct {
	c    *locks.Client
	key  string
	ttl  time.Duration
	last locks.Lease
}

var errText = errors.New("the answer is lost")

// answers are the errors of probes.
var answers = map[string]error{
	"busy":     fmt.Errorf("%w: by c7", locks.ErrBusy),
	"presumed": fmt.Errorf("%w: %w: %w", locks.ErrBusy, locks.ErrPresumed, errText),
	"refused":  fmt.Errorf("%w: too late", locks.ErrRefused),
	"unknown":  errText,
}

// TryLock implements locks.Lock.
func (p *probe) TryLock(ctx context.Context) (locks.Lease, error) {
	l := locks.Lease{Token: p.c.ID + " " + p.key, Fence: 12}
	switch p.key {
	case "bare":
		l = locks.Lease{}
	case "bytes":
		l.Token = "\xff\x00"
	case "pid":
		l.Fence = int64(os.Getpid())
	case "redis":
		l.Fence = 0
		for _, n := range p.c.Nodes {
			if err := n.Set(ctx, p.key, "1", 0).Err(); err != nil {
				return l, err
			}
			l.Fence++
		}
		return l, nil
	case "wall":
		l.Deadline = p.c.Now().Add(p.ttl)
	case "steady":
		l.Deadline, l.Monotonic = time.Now().Add(p.ttl), true
	case "lost":
		lost := make(chan struct{})
		l.LostC = lost
		time.AfterFunc(20*time.Millisecond, func() { close(lost) })
	case "until":
		<-ctx.Done()
		return l, ctx.Err()
	case "ends":
		l.LostC = ctx.Done()
	case "prints":
		fmt.Println(`{"id":1}`)
	case "panics":
		panic("caught")
	case "goexit":
		runtime.Goexit()
	case "background":
		go func() { panic(errText) }()
		select {}
	case "exits":
		os.Exit(3)
	}
	p.last = l
	return l, answers[p.key]
}

// TryLockWith implements locks.TokenLocker.
func (p *probe) TryLockWith(_ context.Context, token string) (locks.Lease, error) {
	return locks.Lease{Token: token}, nil
}

// Unlock implements locks.Lock. It wants the very lease that it granted last.
func (p *probe) Unlock(_ context.Context, l locks.Lease) error {
	if l != p.last {
		return fmt.Errorf("%w: %+v", locks.ErrNotHeld, l)
	}
	return nil
}

// Extend implements locks.Extender.
func (p *probe) Extend(_ context.Context, l locks.Lease) (locks.Lease, error) {
	if l != p.last {
		return l, locks.ErrNotHeld
	}
	p.last.Fence++
	p.last.Token += "+"
	return p.last, nil
}

type readWrite struct{ *probe }

func (r readWrite) Read() locks.Lock  { return &probe{c: r.c, key: "read"} }
func (r readWrite) Write() locks.Lock { return &probe{c: r.c, key: "write"} }

// waiting is a lock that waits in its own way, and polls.
type waiting struct{ *probe }

var waits atomic.Int64

func (w waiting) Lock(ctx context.Context) (locks.Lease, error) {
	return locks.Lease{Fence: waits.Add(1)}, nil
}
