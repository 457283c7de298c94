package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/testbed/remedy"
)

// hold is one lease that a client has, or may have.
type hold struct {
	*session
	lock   string
	mode   history.Mode
	handle locks.Lock
	lease  locks.Lease
	record *history.Lease // the recorded lease; nil = no lease is known
	lost   bool           // the holder knows that its lease ended; isLost also asks the watch
	watch  *lossWatch     // nil = nobody watches the lease
	left   bool           // the release succeeded
	until  time.Duration  // the end of a lease that began before the last grant or extension, for remedy.StopsAtDeadline
}

// op returns an entry for the history about this client and hold.
func (h *hold) op(f string) history.Op {
	return history.Op{Process: h.process, Client: h.id, F: f, Lock: h.lock, Mode: h.mode, Lease: h.record}
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
	h    *hold
	made bool
}

// TryLock makes and records one attempt. When the grace of the liveness phase is over, it makes only
// the first attempt of a wait.
func (a *attempts) TryLock(ctx context.Context) (locks.Lease, error) {
	if a.h.tired() && a.made {
		return locks.Lease{}, ended{errGiveUp}
	}
	a.made = true
	return a.h.attempt(ctx, a.h.try())
}

// Unlock satisfies locks.Lock. Nothing calls it while a client waits for a lock.
func (a *attempts) Unlock(ctx context.Context, l locks.Lease) error {
	return a.h.handle.Unlock(ctx, l)
}

// try returns a function that makes one attempt, with the client's own token if
// Options.Tokens says so.
func (h *hold) try() func(context.Context) (locks.Lease, error) {
	l, ok := h.handle.(locks.TokenLocker)
	if !ok || h.Opts.Tokens != ClientTokens {
		return h.handle.TryLock
	}
	return func(ctx context.Context) (locks.Lease, error) {
		return l.TryLockWith(ctx, fmt.Sprintf("client-%d", h.id))
	}
}

// attempt acquires by calling take and records this acquire. Its error is the lock's own, or of type ended.
// If ctx has already ended but the client's own context has not, attempt sends and records nothing, and
// returns ErrBusy.
func (h *hold) attempt(ctx context.Context, take func(context.Context) (locks.Lease, error)) (locks.Lease, error) {
	if err := ctx.Err(); err != nil && h.ctx.Err() == nil {
		return locks.Lease{}, fmt.Errorf("%w: not asked: %w", locks.ErrBusy, err)
	}
	if err := h.client.Step(h.ctx, testbed.StepAcquire); err != nil {
		return locks.Lease{}, ended{err}
	}
	h.lease, h.record = locks.Lease{}, nil
	var lerr error
	done, err := h.perform(history.FAcquire, func() error {
		h.lease, lerr = take(ctx)
		h.record = h.recorded(h.lease)
		return lerr
	})
	if err != nil {
		return locks.Lease{}, ended{err}
	}
	if done.Type == history.OK {
		h.entered = done.Time
	}
	return h.lease, lerr
}

// perform records an operation on the lock, do, with its outcome.
func (h *hold) perform(f string, do func() error) (done history.Op, err error) {
	op, err := h.Rec.Invoke(h.op(f))
	if err != nil {
		return done, err
	}
	outer := slices.ContainsFunc(h.held, func(o *hold) bool { return o != h && o.lock == h.lock && !o.left })
	h.Remedies.Begin(h.id, f, h.lock, f == history.FAcquire && !outer)
	h.client.Open(op.Index)
	lerr := do()
	h.client.Open(-1)
	h.Remedies.End(h.id, h.lock, outer || f == history.FAcquire && lerr == nil || f == history.FExtend)
	if f != history.FRelease && lerr == nil {
		h.until = op.Time + h.Opts.TTL
	}
	done = h.op(f)
	done.Type, done.Reason, done.Error = outcome(lerr)
	done, err = h.Rec.Complete(done)
	if err == nil && done.Type == history.Info {
		h.goOnAsNewProcess()
	}
	return done, err
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
func (h *hold) enter() (ok bool, err error) {
	if b, blocks := h.handle.(locks.Blocker); blocks {
		return h.enterBlocking(b)
	}
	ctx, stop := h.asking(h.ctx)
	defer stop()
	asked, interval := &attempts{h: h}, max(h.current.Retry, time.Microsecond)
	if p, polls := h.handle.(locks.Poller); polls {
		_, lerr := p.Poll(ctx, asked, interval, h.Opts.polls())
		return h.entry(lerr)
	}
	_, lerr := locks.Wait(ctx, asked, interval)
	return h.entry(lerr)
}

// enterOnce makes one attempt. A busy lock is no error: ok is then false.
func (h *hold) enterOnce() (ok bool, err error) {
	_, lerr := h.attempt(h.ctx, h.try())
	if errors.Is(lerr, locks.ErrBusy) {
		return false, nil
	}
	return h.entry(lerr)
}

// enterBlocking makes one attempt, if the recipe has single attempts. If the lock is busy, or the
// recipe has no single attempts, it waits in the recipe's own way. The end of the client's patience, of
// the liveness phase's grace or of the client interrupts this wait.
func (h *hold) enterBlocking(b locks.Blocker) (ok bool, err error) {
	ctx, stop := h.asking(h.patience)
	defer stop()
	first := h.ctx
	if ctx != h.patience {
		first = ctx
	}
	lerr := locks.ErrBusy
	if !h.Claims.Waits {
		_, lerr = h.attempt(first, h.try())
	}
	if errors.Is(lerr, locks.ErrBusy) {
		_, lerr = h.attempt(ctx, b.Lock)
	}
	if lerr != nil && h.patience.Err() != nil && h.ctx.Err() == nil {
		return false, errGiveUp
	}
	return h.entry(lerr)
}

// critical runs a critical section: it acquires the lock by enterOnce or enter, runs body as the holder,
// and releases the lock. If the client does not get the lock, critical returns.
func (h *hold) critical(once bool, body func(*hold) error) error {
	enter := h.enter
	if once {
		enter = h.enterOnce
	}
	ok, err := enter()
	if err != nil || !ok {
		return err
	}
	return h.within(func() error {
		if err := h.begin(); err != nil {
			return err
		}
		if err := body(h); err != nil {
			return err
		}
		return h.leave()
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
func (h *hold) leave() error {
	if err := h.client.Step(h.ctx, testbed.StepRelease); err != nil {
		return err
	}
	if err := h.endWatch(); err != nil {
		return err
	}
	done, err := h.perform(history.FRelease, func() error { return h.handle.Unlock(h.ctx, h.lease) })
	h.left = done.Type == history.OK
	return cmp.Or(err, h.ctx.Err())
}

// look is the check that a careful client makes before it touches the resource: it reads its own
// clock and Lost. When the client first finds that the lease has ended, look records the loss. The
// client never touches the resource under that hold again.
func (h *hold) look() (mayTouch bool, err error) {
	switch {
	case h.isLost():
		return false, nil
	case h.Remedies.On(remedy.StopsAtDeadline) && h.Env.Now() >= h.until:
		h.Remedies.Act()
		return false, h.lose()
	case h.Opts.Trusting:
		return true, nil
	case h.expired(h.lease):
		return false, h.lose()
	}
	select {
	case <-h.lease.Lost():
		return false, h.told()
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
func (h *hold) work(parts int) error {
	d := h.current.Hold
	if h.healing() {
		d = min(d, h.Opts.longest())
	}
	t := time.NewTimer((d / time.Duration(parts)).Round(time.Microsecond))
	defer t.Stop()
	select {
	case <-t.C:
		return h.prolonged(true)
	case <-h.lostC():
		return h.told()
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
}

// healing reports whether the liveness phase has begun.
func (s *session) healing() bool { return s.healed.Load() != 0 }

// lateWrite makes the write of a touch. If the current section has a Late, the client stops for
// that long before its first write.
func (h *hold) lateWrite(values ...int64) error {
	late := h.current.Late
	if h.current.Late = 0; late > 0 && !h.healing() {
		if err := h.lag(late); err != nil {
			return err
		}
	}
	return h.write(values...)
}

// lag delays a write. Meanwhile the client may learn that its lease is lost, but it can no longer
// recall the write.
func (h *hold) lag(late time.Duration) error {
	until := h.Env.Now() + late.Round(time.Microsecond)
	for {
		t := time.NewTimer(until - h.Env.Now())
		select {
		case <-t.C:
			return nil
		case <-h.lostC():
			if err := h.told(); err != nil {
				return err
			}
		case <-h.ctx.Done():
			t.Stop()
			return h.ctx.Err()
		}
		t.Stop()
	}
}

// touch calls look, and returns if the lease has ended. Otherwise it begins the step, in which a
// fault can still strike, and calls do.
func (h *hold) touch(step string, do func() error) error {
	may, err := h.look()
	if err != nil || !may {
		return err
	}
	if err := h.client.Step(h.ctx, step); err != nil {
		return err
	}
	if step == testbed.StepTouch {
		if err := h.prolonged(false); err != nil {
			return err
		}
	}
	return do()
}
