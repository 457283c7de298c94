package workloads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// session is one client at work. Its own goroutine and the watches of its holds use it.
type session struct {
	*run
	ctx  context.Context
	stop context.CancelFunc // ends ctx
	// patience ends at the end of the liveness phase's grace. Only a locks.Blocker uses it.
	patience  context.Context
	impatient context.CancelFunc // ends patience

	// woken is closed soon after the liveness phase begins, at a slightly different time for each
	// client.
	woken chan struct{}

	id      int
	client  testbed.Client
	process history.Process
	handles map[string]locks.Lock
	// current is the client's current critical section; its number is begun-1.
	current Section
	begun   int
	// held are the holds that the client has now, the outermost first.
	held []*hold
	hung bool // the client hangs in its work
	// entered is the time of the last successful acquire, on the history's clock.
	entered time.Duration

	// mu guards the fields that watches read: process, hung, and hold.lost of each watched hold.
	// Only the client's own goroutine writes these fields.
	mu sync.Mutex
}

// errGiveUp ends the wait for a lock at the end of the liveness phase's grace.
var errGiveUp = errors.New("not acquired within the liveness phase")

// stopped reports whether err is an ordinary end of a client: a crash, work that hangs, the
// trial's end, or errGiveUp.
func stopped(err error) bool {
	return errors.Is(err, testbed.ErrCrashed) || errors.Is(err, testbed.ErrHung) || errors.Is(err, history.ErrSealed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, errGiveUp)
}

func (r *run) session(ctx context.Context, id int) (*session, error) {
	client := r.Env.Client(id)
	maker, err := r.Make(id)
	if err != nil {
		return nil, fmt.Errorf("client %d: bind the recipe: %w", id, err)
	}
	s := &session{
		run: r, id: id, client: client,
		process: history.Process(id),
		handles: map[string]locks.Lock{},
		woken:   make(chan struct{}),
	}
	s.ctx, s.stop = s.life(ctx)
	s.patience, s.impatient = context.WithCancel(s.ctx)
	for k := range r.Opts.Keys {
		if s.handles[lockName(k)], err = maker(lockName(k), r.Opts.TTL); err != nil {
			return nil, fmt.Errorf("client %d: make %s: %w", id, lockName(k), err)
		}
	}
	return s, nil
}

// life returns a context that ends with ctx, with stop, and with the client's process.
func (s *session) life(ctx context.Context) (life context.Context, stop context.CancelFunc) {
	life, cancel := context.WithCancel(ctx)
	process := s.client.Locks()
	if process == nil || process.Context == nil {
		return life, cancel
	}
	forget := context.AfterFunc(process.Context, cancel)
	return life, func() {
		forget()
		cancel()
	}
}

// guard calls do and converts a panic of the code under test to a *testbed.Breakdown, which ends
// the history. If that code ends the goroutine, as t.Fatal does, guard cannot return, and makes
// the breakdown the run's failure. guard cannot catch a panic in a goroutine that a recipe
// started.
func (r *run) guard(id int, do func() error) (err error) {
	returned := false
	defer func() {
		p := recover()
		ended := r.ended(id, p, returned)
		if ended == nil {
			return
		}
		err = ended
		if p == nil {
			defer func() { r.fail(err) }()
		}
		b, ok := ended.(*testbed.Breakdown)
		if !ok {
			return
		}
		event := b.Event()
		event.Client = id
		if rerr := r.Rec.End(event, r.Env.Now()); rerr != nil && !errors.Is(rerr, history.ErrSealed) {
			err = errors.Join(err, rerr)
		}
	}()
	err = do()
	returned = true
	return err
}

// ended returns how the code under test ended guard's call of it, or the harness's error; nil if the call
// returned. p is what was recovered.
func (r *run) ended(id int, p any, returned bool) error {
	b := &testbed.Breakdown{Kind: history.FPanic}
	did := ""
	if far, ok := p.(testbed.Elsewhere); ok {
		if did, b.Stack = far.Did, far.Stack; did == "" && !errors.As(far.Err, &b) {
			return far.Err
		}
	} else if did, b.Stack = crash.Recovered(p, returned); did == "" {
		return nil
	}
	if did != "" {
		b.Detail = fmt.Sprintf("recipe %s %s", r.Claims.Lock, did)
	}
	b.Detail = wording.OneLine(fmt.Sprintf("client %d: %s", id, b.Detail))
	return b
}

// live runs a client: critical sections until all faults are healed, then the liveness phase,
// which ends when the client has acquired each lock once more or the grace is over.
func (s *session) live() error {
	if err := testbed.Sleep(s.ctx, time.Duration(s.id+1)*apart); err != nil {
		return err
	}
	for {
		healed := time.Duration(s.healed.Load())
		if healed > 0 && s.entered > healed && s.Opts.Keys == 1 {
			return nil
		}
		if healed > 0 {
			return s.comeBack(healed)
		}
		if !s.decide() {
			if err := s.await(); err != nil {
				return err
			}
			continue
		}
		if err := s.section(lockName(s.current.Lock)); err != nil {
			return err
		}
		if err := s.rest(); err != nil {
			return err
		}
	}
}

// decide makes the next critical section the current one. It returns false if the client's script
// is finished.
func (s *session) decide() bool {
	n := s.begun
	switch {
	case len(s.Opts.Script) == 0:
		s.current = s.workload.Decide(s.Opts, s.id, n)
	case s.id < len(s.Opts.Script) && n < len(s.Opts.Script[s.id]):
		s.current = s.Opts.Script[s.id][n]
	default:
		return false
	}
	s.begun++
	return true
}

// await rests until the liveness phase begins.
func (s *session) await() error {
	if err := s.client.Step(s.ctx, testbed.StepRest); err != nil {
		return err
	}
	select {
	case <-s.woken:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// comeBack runs one client's liveness phase: the client acquires every lock once, or gives up at the
// end of the grace.
func (s *session) comeBack(healed time.Duration) error {
	for k := range s.Opts.Keys {
		for s.entered = 0; s.entered <= healed; {
			s.current = s.workload.Decide(s.Opts, s.id, s.begun)
			s.begun++
			err := s.section(lockName(k))
			if errors.Is(err, errGiveUp) {
				break // this lock is blocked; the client still tries the others
			}
			if err != nil {
				return err
			}
			if s.entered > healed || s.tired() {
				break
			}
			if err := s.sleep(s.current.Retry); err != nil {
				return err
			}
		}
	}
	return nil
}

// section runs the current critical section on the named lock.
func (s *session) section(lock string) error {
	if s.workload.section != nil {
		return s.workload.section(s, lock)
	}
	return s.hold(lock).critical(s.workload.once, s.workload.body)
}

// hold returns a hold on the named lock, which the client has yet to acquire.
func (s *session) hold(lock string) *hold {
	return &hold{session: s, lock: lock, handle: s.handles[lock]}
}

// rest pauses between two critical sections: for the section's Rest, unless the workload has
// another pause.
func (s *session) rest() error {
	if err := s.client.Step(s.ctx, testbed.StepRest); err != nil {
		return err
	}
	d := s.current.Rest
	if s.workload.pause != nil {
		d = s.workload.pause(s, d)
	}
	return testbed.Sleep(s.ctx, d)
}

func (s *session) sleep(d time.Duration) error {
	return testbed.Sleep(s.ctx, d.Round(time.Microsecond))
}

// tired reports whether the grace of the liveness phase is over.
func (s *session) tired() bool {
	healed := time.Duration(s.healed.Load())
	return healed > 0 && s.Env.Now() > healed+s.grace()
}
