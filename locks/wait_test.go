package locks

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// scripted is a Lock whose attempts return the errors in results, one after another; further attempts
// return the last error. The Lock records the times of the attempts, counted from start.
type scripted struct {
	results []error
	times   []time.Duration
	start   time.Time
}

func (l *scripted) TryLock(context.Context) (Lease, error) {
	l.times = append(l.times, time.Since(l.start))
	err := l.results[min(len(l.times), len(l.results))-1]
	return Lease{Token: "t"}, err
}

func (l *scripted) Unlock(context.Context, Lease) error { return nil }

func TestWaitingTriesAtOnceAndThenAtEachTickWhileBusy(t *testing.T) {
	lost := errors.New("connection lost")
	const ms = time.Millisecond
	wait := func(ctx context.Context, l Lock) (Lease, error) { return Wait(ctx, l, 10*ms) }
	poll := func(maximum int) func(context.Context, Lock) (Lease, error) {
		return func(ctx context.Context, l Lock) (Lease, error) { return Poll(ctx, l, 10*ms, maximum) }
	}
	tests := []struct {
		name    string
		acquire func(context.Context, Lock) (Lease, error)
		results []error
		timeout time.Duration // of ctx
		want    []error       // errors.Is holds for each; nil = the lock is held
		times   []time.Duration
	}{
		{"wait: free", wait, []error{nil}, time.Hour, nil, []time.Duration{0}},
		{"wait: busy twice", wait, []error{ErrBusy, ErrBusy, nil}, time.Hour, nil, []time.Duration{0, 10 * ms, 20 * ms}},
		{"wait: unknown ends it", wait, []error{ErrBusy, lost}, time.Hour, []error{lost}, []time.Duration{0, 10 * ms}},
		{"wait: refused ends it", wait, []error{ErrRefused}, time.Hour, []error{ErrRefused}, []time.Duration{0}},
		{"wait: context ends between ticks", wait, []error{ErrBusy}, 15 * ms,
			[]error{ErrBusy, context.DeadlineExceeded}, []time.Duration{0, 10 * ms}},
		{"poll: free", poll(4), []error{nil}, time.Hour, nil, []time.Duration{0}},
		{"poll: a maximum of 4 means 3 attempts", poll(4), []error{ErrBusy}, time.Hour,
			[]error{ErrBusy}, []time.Duration{0, 10 * ms, 20 * ms}},
		{"poll: held at the last attempt", poll(3), []error{ErrBusy, nil}, time.Hour, nil, []time.Duration{0, 10 * ms}},
		{"poll: unknown ends it", poll(9), []error{ErrBusy, lost}, time.Hour, []error{lost}, []time.Duration{0, 10 * ms}},
		{"poll: context ends", poll(9), []error{ErrBusy}, 15 * ms,
			[]error{ErrBusy, context.DeadlineExceeded}, []time.Duration{0, 10 * ms}},
		{"poll: the context ends behind the last attempt", poll(2), []error{ErrBusy}, 5 * ms,
			[]error{ErrBusy, context.DeadlineExceeded}, []time.Duration{0}},
		{"poll: a maximum of 1 means none", poll(1), nil, time.Hour, []error{ErrBusy}, nil},
		{"poll: nor does one of 0", poll(0), nil, time.Hour, []error{ErrBusy}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.timeout)
				defer cancel()
				l := &scripted{results: tt.results, start: time.Now()}
				lease, err := tt.acquire(ctx, l)
				for _, want := range tt.want {
					if !errors.Is(err, want) {
						t.Errorf("got error %v, want %v", err, want)
					}
				}
				if len(tt.want) == 0 && (err != nil || lease.Token != "t") {
					t.Errorf("got lease %+v and error %v, want the lock's own lease", lease, err)
				}
				if !slices.Equal(l.times, tt.times) {
					t.Errorf("attempts at %v, want %v", l.times, tt.times)
				}
			})
		})
	}
}

func TestAnUnknownAttemptKeepsItsTokenThroughWaiting(t *testing.T) {
	lost := errors.New("connection lost")
	l := &scripted{results: []error{lost}, start: time.Now()}
	if lease, err := Wait(t.Context(), l, time.Second); err != lost || lease.Token != "t" {
		t.Errorf("Wait: got %+v and %v, want TryLock's own result", lease, err)
	}
	if lease, err := Poll(t.Context(), l, time.Second, 3); err != lost || lease.Token != "t" {
		t.Errorf("Poll: got %+v and %v, want TryLock's own result", lease, err)
	}
}

func TestWaitRefusesAnIntervalThatIsNotPositive(t *testing.T) {
	l := &scripted{results: []error{nil}}
	if _, err := Wait(t.Context(), l, 0); !errors.Is(err, ErrRefused) || len(l.times) != 0 {
		t.Errorf("got error %v after %d attempts, want %v after none", err, len(l.times), ErrRefused)
	}
}

// blocking is a Blocker: Wait must call its Lock, Poll its TryLock.
type blocking struct{ scripted }

func (l *blocking) Lock(context.Context) (Lease, error) { return Lease{Token: "own way"}, nil }

func TestWaitLeavesABlockerToItsOwnStrategyAndPollDoesNot(t *testing.T) {
	l := &blocking{scripted{results: []error{nil}}}
	if lease, err := Wait(t.Context(), l, time.Second); err != nil || lease.Token != "own way" {
		t.Errorf("Wait: got %+v and %v, want the Blocker's lease", lease, err)
	}
	if lease, err := Poll(t.Context(), l, time.Second, 2); err != nil || lease.Token != "t" {
		t.Errorf("Poll: got %+v and %v, want TryLock's lease", lease, err)
	}
}
