package nemesis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/testbed"
)

// lastMoment is the time from an action's latest start (By) until the action gives up.
const lastMoment = 500 * time.Nanosecond

// healing is the maximum duration of a heal, on virtual and on real time, not counting Action.Away.
// It covers a second failover attempt by Sentinels, and the longest time that an undo waits for a
// fault's consequences.
const healing = 25 * time.Second

// Run carries the plan out and returns when every action has ended. Each action is a window in the
// history. Run writes the window's invoke entry when the action strikes, and its closing info
// entry, which has the hits, when the action is healed. An action whose trigger did not come
// leaves a window with 0 hits. Every fault is healed when Run returns, even if ctx ended early. An
// error means that the plan is invalid, that a capability is missing, or that the harness (a
// testbed or a recorder) failed. In the first two cases nothing was done; the error of a missing
// capability wraps ErrNotSupported.
func Run(ctx context.Context, p Plan, env testbed.Env, rec *history.Recorder) error {
	if err := p.check(env); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if e, ok := env.(testbed.Elections); ok {
		// Event refuses an entry that comes after the end of the history. Such an entry may be lost.
		e.OnElection(func(op history.Op) { _, _ = rec.Event(op) })
	}
	x := &execution{env: env, rec: rec, ended: map[int]chan struct{}{}}
	for _, a := range p {
		x.ended[a.ID] = make(chan struct{})
	}
	errs := make([]error, len(p))
	var actions sync.WaitGroup
	for i, a := range p {
		actions.Go(func() {
			defer close(x.ended[a.ID])
			if err := x.perform(ctx, a); err != nil {
				errs[i] = fmt.Errorf("fault %d (%s): %w", a.ID, a.Fault, err)
				cancel(errs[i]) // the trial is worthless now
			}
		})
	}
	actions.Wait()
	return errors.Join(errs...)
}

// check refuses a plan that cannot be carried out.
func (p Plan) check(env testbed.Env) error {
	seen := map[int]bool{}
	for _, a := range p {
		f, ok := ByName(a.Fault)
		switch {
		case !ok:
			return fmt.Errorf("fault %d: no fault is called %q", a.ID, a.Fault)
		case f.inject == nil:
			return fmt.Errorf("fault %d: %s cannot be injected", a.ID, a.Fault)
		case seen[a.ID]:
			return fmt.Errorf("fault %d is in the plan twice", a.ID)
		case a.After != 0 && !seen[a.After]:
			return fmt.Errorf("fault %d waits for fault %d, which is not before it", a.ID, a.After)
		}
		if err := Capable(f, env); err != nil {
			return err
		}
		seen[a.ID] = true
	}
	return nil
}

// execution is the state of one Run.
type execution struct {
	env   testbed.Env
	rec   *history.Recorder
	ended map[int]chan struct{} // by action ID
}

// injection is one action in force.
type injection struct {
	env    testbed.Env
	rec    *history.Recorder
	fault  Fault
	action Action
	hit    testbed.Hit    // the hit that started the action; its Point is zero if the action has no Point
	client int            // the action's own client (see clients), or history.NoClient
	from   time.Duration  // when the fault came into force
	ended  *testbed.Hit   // the hit of Until that ended the action; nil if none did
	struck []testbed.Link // cached result of links
	heal   heal
	meant  time.Duration // how long the client at Until was held to wait for another holder; it is no stall
	until  *holding      // the wait for Until; nil before the wait begins
	letGo  func()        // releases the client held at Until; a heal may call it early
	stall  error         // error of recording a client's stall
}

// holding waits for a trigger. The client that reaches it is held until release is called. Callers must call
// release.
type holding struct {
	reached chan testbed.Hit
	release func()
}

// holdAt begins to wait at t for the clients that match t.Who relative to struck (await).
func holdAt(env testbed.Env, t Trigger, struck, turn int) *holding {
	reached, free := make(chan testbed.Hit, 1), make(chan struct{})
	w := await(env, t, struck, turn, func(h testbed.Hit) {
		reached <- h
		<-free
	})
	return &holding{reached, func() {
		close(free)
		w.stop()
	}}
}

// perform waits for an action's start, strikes, waits for its end, and heals.
func (x *execution) perform(ctx context.Context, a Action) error {
	f, _ := ByName(a.Fault)
	s := &injection{env: x.env, rec: x.rec, fault: f, action: a, client: a.Client}
	started, err := x.start(ctx, s)
	switch {
	case err != nil:
		return errors.Join(err, s.stall, x.close(s, result{}, err))
	case !started:
		return errors.Join(x.open(s), x.close(s, result{}, nil))
	}
	release := x.end(ctx, s)
	s.letGo = sync.OnceFunc(func() {
		if s.ended != nil && a.Linger == 0 { // with Linger the client has already gone on
			s.stall = errors.Join(s.stall, s.stalled(*s.ended))
		}
		release()
	})
	err = x.takeBack(ctx, s)
	s.letGo()
	return errors.Join(err, s.stall)
}

// start puts the action in force when its conditions are satisfied. It returns false if
// they were not satisfied in time.
func (x *execution) start(ctx context.Context, s *injection) (bool, error) {
	a := s.action
	patience, cancel := context.WithTimeout(ctx, a.slot(a.By)+lastMoment-x.env.Now())
	defer cancel()
	if !x.due(patience, a) {
		return false, nil
	}
	if a.Point == nil {
		return true, x.begin(ctx, s, testbed.Hit{Time: x.env.Now()})
	}
	armed, release := x.arm(patience, a)
	if !armed {
		release()
		return false, nil
	}
	var err error
	w := await(x.env, *a.Point, history.NoClient, a.ID, func(h testbed.Hit) {
		s.client = h.Point.Client
		err = x.begin(ctx, s, h)
		s.stall = s.stalled(h) // kept apart from err, which says whether to heal
	})
	release()
	defer w.stop()
	select {
	case <-w.hit:
		return true, err
	case <-patience.Done():
	}
	w.stop()
	_, hit := w.last() // the hit may have come at the last moment
	return hit, err
}

// due waits for the action's At and for its predecessor's end plus Delay. It returns false if ctx
// ends earlier.
func (x *execution) due(ctx context.Context, a Action) bool {
	at := max(a.At, x.env.Now())
	if a.After != 0 {
		select {
		case <-x.ended[a.After]:
			at = max(at, x.env.Now()+a.Delay)
		case <-ctx.Done():
			return false
		}
	}
	return sleepUntil(ctx, x.env, a.slot(at)) == nil
}

// arm waits for the action's Arm. The client at Arm is held until release is called, so that it
// cannot pass Point before the wait for Point begins. Callers must call release.
func (x *execution) arm(ctx context.Context, a Action) (armed bool, release func()) {
	if a.Arm == nil {
		return true, func() {}
	}
	arm := holdAt(x.env, *a.Arm, history.NoClient, a.ID)
	select {
	case <-arm.reached:
		return true, arm.release
	case <-ctx.Done():
		return false, arm.release
	}
}

// begin opens the window and injects the fault.
func (x *execution) begin(ctx context.Context, s *injection, h testbed.Hit) error {
	s.hit = h
	if err := x.open(s); err != nil {
		return err
	}
	var err error
	s.heal, err = s.fault.inject(ctx, s)
	s.from = x.env.Now()
	if err == nil && s.action.For == 0 {
		s.awaitUntil() // already now: the struck client may reach Until immediately
	}
	return err
}

// awaitUntil begins to wait for the action's Until, if there is one and the wait has not
// begun yet.
func (s *injection) awaitUntil() {
	if s.action.Until == nil || s.until != nil {
		return
	}
	s.until = holdAt(s.env, *s.action.Until, s.client, s.action.ID)
}

// slot returns the first instant at or after t that is reserved for this action: each
// action has its own microsecond in every tenth of a millisecond. On virtual time the order
// of two events at the same instant would be undefined.
func (a Action) slot(t time.Duration) time.Duration {
	const round = 100 * time.Microsecond
	own := time.Duration(a.ID-1) * time.Microsecond % round
	return t + ((own-t)%round+round)%round
}

// end waits until the action is over. A client that reached Until is held until release is called;
// with a Linger, the client has already gone on. Callers must call release.
func (x *execution) end(ctx context.Context, s *injection) (release func()) {
	a := s.action
	if a.For > 0 {
		_ = sleepUntil(ctx, x.env, a.slot(s.from+a.For)) // an early end of ctx ends the fault
	}
	if a.Until == nil || ctx.Err() != nil && s.until == nil {
		return func() {}
	}
	s.awaitUntil()
	limit := time.NewTimer(a.slot(s.from+a.length()-a.Linger) - x.env.Now())
	defer limit.Stop()
	select {
	case h := <-s.until.reached:
		s.ended = &h
		if a.Linger > 0 {
			s.until.release()
			_ = sleepUntil(ctx, x.env, a.slot(s.env.Now()+a.Linger))
			return func() {}
		}
	case <-limit.C:
	case <-ctx.Done():
	}
	return s.until.release
}

// takeBack heals the fault, even if ctx has ended, and writes the closing entry.
func (x *execution) takeBack(ctx context.Context, s *injection) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.action.Away+healing)
	defer cancel()
	r, err := s.heal(ctx)
	return errors.Join(err, x.close(s, r, err))
}

// open writes the window's invoke entry.
func (x *execution) open(s *injection) error {
	_, err := x.rec.Invoke(s.entry())
	return err
}

// close writes the window's closing entry.
func (x *execution) close(s *injection, r result, failure error) error {
	op := s.entry()
	op.Type = history.Info
	op.Window.Hits, op.Window.Impact = r.hits, r.impact
	if failure != nil {
		op.Error = failure.Error()
	}
	_, err := x.rec.Complete(op)
	return err
}

// entry returns the nemesis's history entry for this action.
func (s *injection) entry() history.Op {
	a := s.action
	w := &history.Window{Fault: a.Fault, ID: a.ID, Effect: s.fault.effect, Planned: a.timing()}
	s.fault.aim(s, w)
	return history.Op{Process: history.Nemesis, Client: s.client, F: a.Fault, Offset: a.Offset, Window: w}
}
