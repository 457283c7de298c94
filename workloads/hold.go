package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// hold is one lease that a client has, or may have.
type hold struct {
	lock   string
	mode   history.Mode
	handle locks.Lock
	lease  locks.Lease
	record *history.Lease // the recorded lease; nil = no lease is known
	lost   bool           // the holder knows that its lease ended; isLost also asks the watch
	watch  *lossWatch     // nil = nobody watches the lease
}

// op returns an entry for the history about this client and hold.
func (s *session) op(f string, h hold) history.Op {
	return history.Op{Process: s.process, Client: s.id, F: f, Lock: h.lock, Mode: h.mode, Lease: h.record}
}

// recorded returns the lease in the history's form; nil for the zero Lease.
func (s *session) recorded(l locks.Lease) *history.Lease {
	if l == (locks.Lease{}) {
		return nil
	}
	return &history.Lease{Token: l.Token, Fence: l.Fence, Deadline: s.onTrialClock(l.Deadline), Monotonic: l.Monotonic && !l.Deadline.IsZero()}
}

// onTrialClock converts an instant of the client's wall clock to the time since the true wall-clock
// time of the trial's start (history.Lease.Deadline). It does not correct the client's skew. An instant of
// time.Now becomes a time of the trial's clock.
func (s *session) onTrialClock(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	// Two clocks cannot be read at the same time. In this order the result is too early by the
	// time between the two readings: the history's deadline is never later than the client's.
	now := s.Env.Now()
	return now + time.Until(at)
}

// ended wraps an error that ends a client, to distinguish it from a lock's error.
type ended struct{ err error }

// Error returns the text of the wrapped error.
func (e ended) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e ended) Unwrap() error { return e.err }

// attempts is a lock that records each attempt as a separate operation.
type attempts struct {
	s    *session
	h    *hold
	made bool
}

// TryLock makes and records one attempt. When the grace of the liveness phase is over, it makes only
// the first attempt of a wait.
func (a *attempts) TryLock(ctx context.Context) (locks.Lease, error) {
	if a.s.tired() && a.made {
		return locks.Lease{}, ended{errGiveUp}
	}
	a.made = true
	return a.s.attempt(ctx, a.h, a.s.try(a.h))
}

// Unlock satisfies locks.Lock. Nothing calls it while a client waits for a lock.
func (a *attempts) Unlock(ctx context.Context, l locks.Lease) error {
	return a.h.handle.Unlock(ctx, l)
}

// try returns a function that makes one attempt, with the client's own token if
// Options.Tokens says so.
func (s *session) try(h *hold) func(context.Context) (locks.Lease, error) {
	l, ok := h.handle.(locks.TokenLocker)
	if !ok || s.Opts.Tokens != ClientTokens {
		return h.handle.TryLock
	}
	return func(ctx context.Context) (locks.Lease, error) {
		return l.TryLockWith(ctx, fmt.Sprintf("client-%d", s.id))
	}
}

// attempt acquires by calling take and records this acquire. Its error is the lock's own, or of type ended.
// If ctx has already ended but the client's own context has not, attempt sends and records nothing, and
// returns ErrBusy.
func (s *session) attempt(ctx context.Context, h *hold, take func(context.Context) (locks.Lease, error)) (locks.Lease, error) {
	if err := ctx.Err(); err != nil && s.ctx.Err() == nil {
		return locks.Lease{}, fmt.Errorf("%w: not asked: %w", locks.ErrBusy, err)
	}
	if err := s.client.Step(s.ctx, testbed.StepAcquire); err != nil {
		return locks.Lease{}, ended{err}
	}
	h.lease, h.record = locks.Lease{}, nil
	op, err := s.Rec.Invoke(s.op(history.FAcquire, *h))
	if err != nil {
		return locks.Lease{}, ended{err}
	}
	s.client.Open(op.Index)
	lease, lerr := take(ctx)
	s.client.Open(-1)
	h.lease, h.record = lease, s.recorded(lease)
	done := s.op(history.FAcquire, *h)
	done.Type, done.Reason, done.Error = outcome(lerr)
	if done, err = s.Rec.Complete(done); err != nil {
		return locks.Lease{}, ended{err}
	}
	switch done.Type {
	case history.OK:
		s.entered = done.Time
	case history.Info:
		s.goOnAsNewProcess()
	}
	return lease, lerr
}

// outcome classifies a lock's result as ok, fail or info.
func outcome(err error) (history.Type, history.Reason, string) {
	switch {
	case err == nil:
		return history.OK, "", ""
	case errors.Is(err, locks.ErrPresumed):
		return history.Info, history.Presumed, err.Error()
	case errors.Is(err, locks.ErrBusy):
		return history.Fail, history.Busy, ""
	case errors.Is(err, locks.ErrRefused):
		return history.Fail, history.Refused, err.Error()
	case errors.Is(err, locks.ErrNotHeld):
		return history.Fail, history.NotHeld, ""
	default:
		return history.Info, history.Unknown, err.Error()
	}
}

// goOnAsNewProcess gives the client a new process number after an operation of unknown outcome, as
// in Jepsen: the operation of the old process stays open for ever. The lock's owner is still the
// same client.
func (s *session) goOnAsNewProcess() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process += history.Process(s.Opts.Clients)
}

// enter waits until the lock is held. After a refusal, an unknown outcome, the last attempt of a
// locks.Poller or the end of the client's patience, ok is false, and the client may try again.
func (s *session) enter(h *hold) (ok bool, err error) {
	if b, blocks := h.handle.(locks.Blocker); blocks {
		return s.enterBlocking(h, b)
	}
	ctx, stop := s.asking(s.ctx)
	defer stop()
	asked, interval := &attempts{s: s, h: h}, max(s.current.Retry, time.Microsecond)
	if p, polls := h.handle.(locks.Poller); polls {
		_, lerr := p.Poll(ctx, asked, interval, s.Opts.polls())
		return s.entry(lerr)
	}
	_, lerr := locks.Wait(ctx, asked, interval)
	return s.entry(lerr)
}

// enterOnce makes one attempt. A busy lock is no error: ok is then false.
func (s *session) enterOnce(h *hold) (ok bool, err error) {
	_, lerr := s.attempt(s.ctx, h, s.try(h))
	if errors.Is(lerr, locks.ErrBusy) {
		return false, nil
	}
	return s.entry(lerr)
}

// enterBlocking makes one attempt, if the recipe has single attempts. If the lock is busy, or the
// recipe has no single attempts, it waits in the recipe's own way. The end of the client's patience, of
// the liveness phase's grace or of the client interrupts this wait.
func (s *session) enterBlocking(h *hold, b locks.Blocker) (ok bool, err error) {
	ctx, stop := s.asking(s.patience)
	defer stop()
	first := s.ctx
	if ctx != s.patience {
		first = ctx
	}
	lerr := locks.ErrBusy
	if !s.Claims.Waits {
		_, lerr = s.attempt(first, h, s.try(h))
	}
	if errors.Is(lerr, locks.ErrBusy) {
		_, lerr = s.attempt(ctx, h, b.Lock)
	}
	if lerr != nil && s.patience.Err() != nil && s.ctx.Err() == nil {
		return false, errGiveUp
	}
	return s.entry(lerr)
}

// critical runs a critical section: it calls enter to acquire the lock, runs body as the holder,
// and releases the lock. If enter gets no lock, critical returns.
func (s *session) critical(h hold, enter func(*hold) (bool, error), body func(*hold) error) error {
	ok, err := enter(&h)
	if err != nil || !ok {
		return err
	}
	return s.within(&h, func() error {
		if err := s.begin(&h); err != nil {
			return err
		}
		if err := body(&h); err != nil {
			return err
		}
		return s.leave(&h)
	})
}

// entry converts the error of an attempt. After a lock's error the client pauses for the section's
// Retry, and ok is false. err is not nil only if the client must end.
func (s *session) entry(lerr error) (ok bool, err error) {
	var end ended
	switch {
	case lerr == nil:
		return true, nil
	case errors.As(lerr, &end):
		return false, end.err
	case s.ctx.Err() != nil:
		return false, s.ctx.Err()
	}
	// Refused, out of attempts or patience, or unknown: a service would report this result and try
	// again later.
	return false, s.sleep(s.current.Retry)
}

// leave releases the hold once and records the result. A lease that ends because of the release is
// not recorded as lost.
func (s *session) leave(h *hold) error {
	_, err := s.release(h)
	return err
}

// release does as leave, and returns how the release completed.
func (s *session) release(h *hold) (history.Type, error) {
	if err := s.client.Step(s.ctx, testbed.StepRelease); err != nil {
		return "", err
	}
	if err := s.endWatch(h); err != nil {
		return "", err
	}
	op, err := s.Rec.Invoke(s.op(history.FRelease, *h))
	if err != nil {
		return "", err
	}
	s.client.Open(op.Index)
	lerr := h.handle.Unlock(s.ctx, h.lease)
	s.client.Open(-1)
	op.Type, op.Reason, op.Error = outcome(lerr)
	if _, err := s.Rec.Complete(op); err != nil {
		return "", err
	}
	if op.Type == history.Info {
		s.goOnAsNewProcess()
	}
	return op.Type, s.ctx.Err()
}

// look is the check that a careful client makes before it touches the resource: it reads its own
// clock and Lost. When the client first finds that the lease has ended, look records the loss. The
// client never touches the resource under that hold again.
func (s *session) look(h *hold) (mayTouch bool, err error) {
	switch {
	case h.isLost():
		return false, nil
	case s.Opts.Trusting:
		return true, nil
	case s.expired(h.lease):
		return false, s.lose(h)
	}
	select {
	case <-h.lease.Lost():
		return false, s.told(h)
	default:
		return true, nil
	}
}

// expired reports whether the client's clock shows that the lease's deadline has passed.
func (s *session) expired(l locks.Lease) bool {
	now := s.client.Locks().Now
	if l.Monotonic {
		now = time.Now
	}
	return !l.Deadline.IsZero() && !now().Before(l.Deadline)
}

// work waits between two touches, for one of the equal parts of the section's Hold. A
// careful client stops when the lease is reported lost.
func (s *session) work(h *hold, parts int) error {
	d := s.current.Hold
	if s.healing() {
		d = min(d, s.Opts.longest())
	}
	t := time.NewTimer((d / time.Duration(parts)).Round(time.Microsecond))
	defer t.Stop()
	select {
	case <-t.C:
		return s.prolonged(h, true)
	case <-s.lostC(h):
		return s.told(h)
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// healing reports whether the liveness phase has begun.
func (s *session) healing() bool { return s.healed.Load() != 0 }

// lateWrite makes the write of a touch. If the current section has a Late, the client stops for
// that long before its first write.
func (s *session) lateWrite(h *hold, values ...int64) error {
	late := s.current.Late
	if s.current.Late = 0; late > 0 && !s.healing() {
		if err := s.lag(h, late); err != nil {
			return err
		}
	}
	return s.write(h, values...)
}

// lag delays a write. Meanwhile the client may learn that its lease is lost, but it can no longer
// recall the write.
func (s *session) lag(h *hold, late time.Duration) error {
	until := s.Env.Now() + late.Round(time.Microsecond)
	for {
		t := time.NewTimer(until - s.Env.Now())
		select {
		case <-t.C:
			return nil
		case <-s.lostC(h):
			if err := s.told(h); err != nil {
				return err
			}
		case <-s.ctx.Done():
			t.Stop()
			return s.ctx.Err()
		}
		t.Stop()
	}
}

// touch calls look, and returns if the lease has ended. Otherwise it begins the step, in which a
// fault can still strike, and calls do.
func (s *session) touch(h *hold, step string, do func() error) error {
	may, err := s.look(h)
	if err != nil || !may {
		return err
	}
	if err := s.client.Step(s.ctx, step); err != nil {
		return err
	}
	if step == testbed.StepTouch {
		if err := s.prolonged(h, false); err != nil {
			return err
		}
	}
	return do()
}
