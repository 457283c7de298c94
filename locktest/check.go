package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/internal/crash"
	"github.com/lockstorm/lockstorm/internal/entropy"
	"github.com/lockstorm/lockstorm/testbed/sim"
	"github.com/lockstorm/lockstorm/trial/worker"
)

// checking holds an element while Check or Recipe runs trials: a process may run only one trial at
// a time.
var checking = make(chan struct{}, 1)

// Check tests a lock and returns a Result, for programs that evaluate the results themselves; tests
// call Run. The Result has the violations. The error says why the lock could not be tested. With an
// error the Result is nil, or has only the faults that were finished before.
//
// Check runs the trials in this process, one after another. So a panic in a goroutine that the
// lock's code starts ends the process, and Check cannot end a trial that hangs. Check gives a trial
// up in two cases. First, its virtual time stands still for some seconds of real time, for example
// because a goroutine waits for a mutex whose owner waits for time. Second, its code runs for a
// minute without a command. The error then names the lock's code, if a dump of the goroutines shows
// it, and the trial's goroutines stay behind. The package's documentation says how the lock's code
// may wait.
//
// While Check runs, crypto/rand of the process is seeded: nothing drawn from it is secret, and no
// other code may read it. When Check returns, crypto/rand.Reader is the previous one again. A call
// of Check waits until no other call runs, or until its ctx ends.
func Check(ctx context.Context, subject Subject, o Options) (*Result, error) {
	var r *Result
	err := lock{name: "locktest.Check", make: subject, Options: o}.here(ctx, func(s *session) (err error) {
		r, err = s.all(ctx)
		return err
	})
	return r, err
}

// here opens a session whose trials run in this process, one after another, calls do, and closes the session. It
// waits until no other such session is open, or until ctx ends.
func (l lock) here(ctx context.Context, do func(*session) error) (err error) {
	l.Options, err = l.filled()
	switch {
	case err != nil:
		return err
	case l.make == nil:
		return errNoSubject
	case crash.Bubble() != "":
		return errBubble
	}
	select {
	case checking <- struct{}{}:
		defer func() { <-checking }()
	case <-ctx.Done():
		return fmt.Errorf("locktest: wait for another Check: %w", ctx.Err())
	}
	defer entropy.Unseed()
	defer l.register()()
	s, err := newSession(l, worker.NewPool(sim.Guest{Testbed: sim.New(), Seeds: true}, nil, 1), 1)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.close())
}

// all tests the lock under every fault.
func (s *session) all(ctx context.Context) (*Result, error) {
	began := time.Now()
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	r := &Result{Hints: s.hints()}
	defer func() { r.Elapsed = time.Since(began) }()
	for _, fault := range s.plan.Faults() {
		f, err := s.fault(ctx, fault)
		if err != nil {
			return r, err
		}
		r.add(f)
	}
	if s.Replay != "" && r.Trials == 0 {
		return r, fmt.Errorf("%w %q under %s", ErrNoTrial, s.Replay, strings.Join(s.plan.Faults(), ", "))
	}
	return r, nil
}

func (r *Result) add(f FaultResult) {
	r.Faults = append(r.Faults, f)
	r.Trials += f.Trials
}
