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

// hold is one lease that a client got, or may have.
type hold struct {
	lock   string
	mode   history.Mode
	handle locks.Lock
	lease  locks.Lease
	record *history.Lease // the recorded lease; nil = no lease is known
	lost   bool           // the holder knows that its lease ended
}

// op starts an entry about this client and hold.
func (s *session) op(f string, h hold) history.Op {
	return history.Op{Process: s.process, Client: s.id, F: f, Lock: h.lock, Mode: h.mode, Lease: h.record}
}

// recorded is the lease in the history's form.
func (s *session) recorded(l locks.Lease) *history.Lease {
	if l == (locks.Lease{}) {
		return nil
	}
	return &history.Lease{Token: l.Token, Fence: l.Fence, Deadline: s.onTrialClock(l.Deadline)}
}

// onTrialClock expresses an instant of the client's wall clock in nanoseconds
// since the trial's start as an unskewed wall clock would show it.
func (s *session) onTrialClock(wall time.Time) time.Duration {
	if wall.IsZero() {
		return 0
	}
	// Two clocks cannot be read at once. In this order, the deadline comes out early by
	// the gap, never late: no hold is believed longer than claimed.
	now := s.Env.Now()
	return now + time.Until(wall)
}

// ended wraps an error that ends a client, to tell it from a lock's error.
type ended struct{ err error }

// Error is the text of the wrapped error.
func (e ended) Error() string { return e.err.Error() }

// Unwrap returns it.
func (e ended) Unwrap() error { return e.err }

// attempts is a lock that records every attempt as an operation of its own.
type attempts struct {
	s    *session
	h    *hold
	made bool
}

// TryLock makes and records one attempt.
func (a *attempts) TryLock(ctx context.Context) (locks.Lease, error) {
	if a.s.tired() && a.made {
		return locks.Lease{}, ended{errGiveUp}
	}
	a.made = true
	return a.s.attempt(ctx, a.h, a.s.try(a.h))
}

// Unlock satisfies locks.Lock; waiting never calls it.
func (a *attempts) Unlock(ctx context.Context, l locks.Lease) error {
	return a.h.handle.Unlock(ctx, l)
}

// try returns a function for one attempt, with the client's token if it chooses one.
func (s *session) try(h *hold) func(context.Context) (locks.Lease, error) {
	l, ok := h.handle.(locks.TokenLocker)
	if !ok || s.Opts.Tokens != ClientTokens {
		return h.handle.TryLock
	}
	return func(ctx context.Context) (locks.Lease, error) {
		return l.TryLockWith(ctx, fmt.Sprintf("client-%d", s.id))
	}
}

// attempt records one acquire by take. Its error is the lock's own, or ended. If ctx
// has already ended, it asks nothing and returns ErrBusy.
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

// goOnAsNewProcess follows an operation of unknown outcome, as in Jepsen: the old
// process's operation stays open for ever; the owner stays the same.
func (s *session) goOnAsNewProcess() {
	s.process += history.Process(s.Opts.Clients)
}

// enter waits until the lock is held. After a refusal or an unknown outcome ok is
// false, and the client may try again.
func (s *session) enter(h *hold) (ok bool, err error) {
	if b, blocks := h.handle.(locks.Blocker); blocks {
		return s.enterBlocking(h, b)
	}
	ctx, stop := s.asking(s.ctx)
	defer stop()
	_, lerr := locks.Wait(ctx, &attempts{s: s, h: h}, max(s.current.Retry, time.Microsecond))
	return s.entry(lerr)
}

// enterOnce makes one attempt.
func (s *session) enterOnce(h *hold) (ok bool, err error) {
	_, lerr := s.attempt(s.ctx, h, s.try(h))
	if errors.Is(lerr, locks.ErrBusy) {
		return false, nil
	}
	return s.entry(lerr)
}

// enterBlocking makes one attempt, as for every recipe, and then waits in the recipe's
// own way. Only the end of the client's patience, or of the liveness phase's grace,
// interrupts the waiting.
func (s *session) enterBlocking(h *hold, b locks.Blocker) (ok bool, err error) {
	ctx, stop := s.asking(s.patience)
	defer stop()
	first := s.ctx
	if ctx != s.patience {
		first = ctx
	}
	_, lerr := s.attempt(first, h, s.try(h))
	if errors.Is(lerr, locks.ErrBusy) {
		_, lerr = s.attempt(ctx, h, b.Lock)
	}
	if lerr != nil && s.patience.Err() != nil && s.ctx.Err() == nil {
		return false, errGiveUp
	}
	return s.entry(lerr)
}

// critical runs a critical section: it acquires by enter, runs body as the holder, and
// releases. Without the lock it does nothing more.
func (s *session) critical(h hold, enter func(*hold) (bool, error), body func(*hold) error) error {
	ok, err := enter(&h)
	if err != nil || !ok {
		return err
	}
	if err := s.client.Step(s.ctx, testbed.StepHold); err != nil {
		return err
	}
	if err := body(&h); err != nil {
		return err
	}
	return s.leave(h)
}

// entry separates a lock's error from an error that ends the client.
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
	// Refused or unknown: a service would report an error and come again.
	return false, s.sleep(s.current.Retry)
}

// leave releases the hold once and records the result.
func (s *session) leave(h hold) error {
	if err := s.client.Step(s.ctx, testbed.StepRelease); err != nil {
		return err
	}
	op, err := s.Rec.Invoke(s.op(history.FRelease, h))
	if err != nil {
		return err
	}
	s.client.Open(op.Index)
	lerr := h.handle.Unlock(s.ctx, h.lease)
	s.client.Open(-1)
	op.Type, op.Reason, op.Error = outcome(lerr)
	if _, err := s.Rec.Complete(op); err != nil {
		return err
	}
	if op.Type == history.Info {
		s.goOnAsNewProcess()
	}
	return s.ctx.Err()
}

// look is the check that a careful client makes before it touches the resource: it
// reads its own clock and Lost. When it first finds the lease gone, it records that,
// and it never touches again under that hold.
func (s *session) look(h *hold) (mayTouch bool, err error) {
	if h.lost {
		return false, nil
	}
	if s.Opts.Trusting || !s.expired(*h) {
		return true, nil
	}
	return false, s.lose(h)
}

func (s *session) expired(h hold) bool {
	select {
	case <-h.lease.Lost():
		return true
	default:
	}
	d := h.lease.Deadline
	return !d.IsZero() && !s.client.Locks().Now().Before(d)
}

// lose records that the holder knows that its lease ended.
func (s *session) lose(h *hold) error {
	h.lost = true
	_, err := s.Rec.Event(s.op(history.FLost, *h))
	return err
}

// work is the time between two touches; the section has that many parts. A careful
// client stops when the lease is reported lost.
func (s *session) work(h *hold, parts int) error {
	d := s.current.Hold
	if s.healing() {
		d = min(d, s.Opts.longest())
	}
	t := time.NewTimer((d / time.Duration(parts)).Round(time.Microsecond))
	defer t.Stop()
	lost := h.lease.Lost()
	if s.Opts.Trusting || h.lost {
		lost = nil
	}
	select {
	case <-t.C:
		return nil
	case <-lost:
		return s.lose(h)
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// healing says whether the liveness phase has begun.
func (s *session) healing() bool { return s.healed.Load() != 0 }

// lateWrite is the last step of a touch: a write. If the critical section is to be
// late, the client stops before the first of these.
func (s *session) lateWrite(h *hold, values ...int64) error {
	late := s.current.Late
	if s.current.Late = 0; late > 0 && !s.healing() {
		if err := s.lag(h, late); err != nil {
			return err
		}
	}
	return s.write(h, values...)
}

// lag delays a write that is on its way: the client runs on, and may learn that its
// lease is lost, but cannot recall the write.
func (s *session) lag(h *hold, late time.Duration) error {
	until := s.Env.Now() + late.Round(time.Microsecond)
	lost := h.lease.Lost()
	if s.Opts.Trusting || h.lost {
		lost = nil
	}
	for {
		t := time.NewTimer(until - s.Env.Now())
		select {
		case <-t.C:
			return nil
		case <-lost:
			lost = nil
			if err := s.lose(h); err != nil {
				return err
			}
		case <-s.ctx.Done():
			t.Stop()
			return s.ctx.Err()
		}
		t.Stop()
	}
}

// touch looks, marks the step in which a fault can still hit, and then calls do.
func (s *session) touch(h *hold, step string, do func() error) error {
	may, err := s.look(h)
	if err != nil || !may {
		return err
	}
	if err := s.client.Step(s.ctx, step); err != nil {
		return err
	}
	return do()
}
