package foreign

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/locks"
)

// ErrNoTrial says that no trial started this process.
var ErrNoTrial = errors.New("a client process is started by a trial, not by hand")

// Serve makes this process a child that StartOwn has started: it serves a recipe in Go. The function bind
// binds the recipe that the job describes to the client. Serve returns when standard input ends, when ctx
// ends, or when the connections cannot be made. The error is ErrNoTrial if StartOwn did not start this
// process. Of the code under test, standard input is empty, and standard output is standard error.
func Serve(ctx context.Context, bind func(job []byte, c *locks.Client) (locks.Maker, error)) error {
	in, out, err := secluded()
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s := &server{
		ctx: ctx, out: out, bind: bind, passed: newPassages(),
		handles: map[place]locks.Lock{}, leases: map[int64]locks.Lease{}, calls: map[int64]context.CancelFunc{},
	}
	read := make(chan error, 1)
	go func() { // before the connections are made, whose writes wait for what the trial tells
		read <- s.read(in)
		stop()
	}()
	client, err := join(ctx, s.now, s.passed)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.client = client
	s.mu.Unlock()
	s.last = monotonic()
	go s.beat()
	s.say(map[string]bool{"ready": true})
	<-ctx.Done()
	select {
	case err := <-read:
		return err
	default:
		return nil
	}
}

// read serves the trial's lines until there are no more: the trial is over, or gone.
func (s *server) read(in io.Reader) error {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		if err := s.take(line); err != nil {
			return err
		}
	}
}

// secluded takes standard input and output away from the code under test.
func secluded() (in, out *os.File, err error) {
	if os.Getenv(routeVariable) == "" {
		return nil, nil, ErrNoTrial
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, fmt.Errorf("client: %w", err)
	}
	defer null.Close()
	var mine [2]*os.File
	for fd, instead := range []int{int(null.Fd()), 2} {
		copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if err == nil {
			err = unix.Dup2(instead, fd)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("client: %w", err)
		}
		mine[fd] = os.NewFile(uintptr(copied), "protocol")
	}
	return mine[0], mine[1], nil
}

// server is the child's side of the protocol. Each request has a goroutine of its own.
type server struct {
	ctx    context.Context
	bind   func(job []byte, c *locks.Client) (locks.Maker, error)
	passed *passages
	ahead  atomic.Int64 // the lead of the client's wall clock

	writing sync.Mutex
	out     *os.File

	beating sync.Mutex
	last    time.Duration // when lateness was called last

	mu      sync.Mutex
	client  *locks.Client // nil until its connections are made
	maker   locks.Maker   // nil before the request to bind, which comes first
	handles map[place]locks.Lock
	leases  map[int64]locks.Lease
	calls   map[int64]context.CancelFunc
}

// place names a handle.
type place struct{ key, mode string }

// now returns the client's wall clock. The time has no monotonic reading, so that comparisons use the wall
// clock.
func (s *server) now() time.Time { return time.Now().Round(0).Add(time.Duration(s.ahead.Load())) }

// say writes a line. It ignores errors: without the trial this process ends soon.
func (s *server) say(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // lines have only numbers, booleans and strings
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(text, '\n'))
}

// take begins to serve a line of the trial.
func (s *server) take(line []byte) error {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return fmt.Errorf("client: got %s: %w", excerpt(line), err)
	}
	switch {
	case r.Ahead != nil:
		s.ahead.Store(int64(*r.Ahead))
	case r.Passed != nil:
		s.passed.note(*r.Passed)
	case r.Cancel != 0:
		s.mu.Lock()
		defer s.mu.Unlock()
		if end := s.calls[r.Cancel]; end != nil {
			end()
			delete(s.calls, r.Cancel)
		}
	default:
		ctx, end := context.WithCancel(s.ctx)
		if r.Deadline != 0 {
			end()
			ctx, end = context.WithTimeout(s.ctx, time.Duration(r.Deadline)-monotonic())
		}
		s.mu.Lock()
		s.calls[r.ID] = end // not when the call returns: the lock may use the caller's context longer
		s.mu.Unlock()
		go s.serve(ctx, r)
	}
	return nil
}

// serve serves one request. If the code under test does not return, the answer says so.
func (s *server) serve(ctx context.Context, r request) {
	a, returned := answer{ID: r.ID}, false
	defer func() {
		if did, stack := crash.Recovered(recover(), returned); did != "" {
			a = answer{ID: r.ID, ownAnswer: ownAnswer{Panic: did, Stack: stack}}
		}
		s.say(a)
	}()
	a.fail(s.do(ctx, r, &a))
	returned = true
}

// do does what a request asks for, and fills in the answer except its error.
func (s *server) do(ctx context.Context, r request, a *answer) error {
	switch r.Do {
	case "bind":
		s.mu.Lock()
		client := s.client
		s.mu.Unlock()
		m, err := s.bind(r.Job, client)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.maker = m
		return err
	case "make":
		return s.make(r, a)
	case "look":
		s.lateness()
		return nil
	}
	s.mu.Lock()
	l, held := s.handles[place{r.Key, r.Mode}], s.leases[r.Lease]
	s.mu.Unlock()
	switch r.Do {
	case "acquire":
		lease, err := acquire(ctx, l, r)
		a.grant(lease)
		if err == nil {
			s.hold(r.ID, lease)
		}
		return err
	case "release":
		return l.Unlock(ctx, held)
	case "extend":
		e, ok := l.(locks.Extender)
		if !ok {
			return errors.New("the recipe has no Extend")
		}
		lease, err := e.Extend(ctx, held)
		if err == nil {
			a.grant(lease)
			s.hold(r.Lease, lease)
		}
		return err
	}
	return fmt.Errorf("unknown request %q", r.Do)
}

// make makes the handles of one lock.
func (s *server) make(r request, a *answer) error {
	s.mu.Lock()
	maker := s.maker
	s.mu.Unlock()
	l, err := maker(r.Key, time.Duration(r.TTL)*time.Millisecond)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := func(mode string, l locks.Lock) *made {
		s.handles[place{r.Key, mode}] = l
		m := new(made)
		_, m.Blocks = l.(locks.Blocker)
		_, m.Polls = l.(locks.Poller)
		return m
	}
	a.Made = keep("", l)
	if rw, ok := l.(locks.RWLocker); ok {
		a.Made.Read, a.Made.Write = keep("read", rw.Read()), keep("write", rw.Write())
	}
	return nil
}

func acquire(ctx context.Context, l locks.Lock, r request) (locks.Lease, error) {
	b, blocks := l.(locks.Blocker)
	if blocks && r.Wait {
		return b.Lock(ctx)
	}
	t, takes := l.(locks.TokenLocker)
	if takes && r.Own != nil {
		return t.TryLockWith(ctx, *r.Own)
	}
	return l.TryLock(ctx)
}

// grant describes the lease.
func (a *answer) grant(l locks.Lease) {
	a.Token, a.Fence, a.Told = l.Token, l.Fence, l.LostC != nil
	if !utf8.ValidString(l.Token) {
		a.Raw = []byte(l.Token)
	}
	switch {
	case l.Deadline.IsZero():
	case l.Monotonic:
		a.Steady = int64(monotonic() + time.Until(l.Deadline))
	default:
		a.Wall = l.Deadline.UnixNano()
	}
}

// hold keeps a lease for later requests, and tells the trial when the lock reports its loss.
func (s *server) hold(id int64, l locks.Lease) {
	s.mu.Lock()
	s.leases[id] = l
	s.mu.Unlock()
	if l.LostC == nil {
		return
	}
	go func() {
		select {
		case <-l.LostC:
			s.say(map[string]int64{"lost": id})
		case <-s.ctx.Done():
		}
	}()
}

// As in the trial's own process, a heartbeat shows whether the child was not scheduled for some
// milliseconds: what it did then came late by the machine's fault.
const (
	beatEvery = 5 * time.Millisecond
	beatLate  = 5 * time.Millisecond // smaller lateness is not reported
)

func (s *server) beat() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.lateness()
		case <-s.ctx.Done():
			return
		}
	}
}

// lateness reports how late this call is, if it is too late. A call may also come early.
func (s *server) lateness() {
	s.beating.Lock()
	defer s.beating.Unlock()
	now := monotonic()
	at := stall{From: s.last, To: now, Late: now - s.last - beatEvery}
	if s.last = now; at.Late > beatLate {
		s.say(map[string]stall{"stall": at})
	}
}
