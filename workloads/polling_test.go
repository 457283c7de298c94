package workloads

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

func TestOnlyWhoWaitsByBoundedPollingGivesUpABusyLock(t *testing.T) {
	for _, tt := range []struct {
		polled     bool
		ttl, retry time.Duration
		attempts   int // attempts of a critical section; 0 = until the end
	}{
		{true, time.Second, 50 * time.Millisecond, 20},
		{true, time.Second, 300 * time.Millisecond, 3},
		{true, time.Second, 2 * time.Second, 2},
		{false, time.Second, 50 * time.Millisecond, 0},
	} {
		o := options
		o.Clients, o.TTL, o.Retry = 1, tt.ttl, tt.retry
		o.Duration = 20 * time.Second
		var sections []int // attempts in each section
		begun := 0
		e := &fakeEnv{at: func(_ int, step string) error {
			if step == testbed.StepRest {
				sections, begun = append(sections, begun), 0
			}
			return nil
		}}
		ops := played(t, "mutex", e, o, func(l *memoryLock) {
			l.polled = tt.polled
			l.try = func() error { begun++; return locks.ErrBusy }
		})
		recorded := 0
		for _, op := range ops {
			if op.Type == history.Fail && op.F == history.FAcquire && op.Reason == history.Busy {
				recorded++
			}
		}
		if total := begun + sum(sections); recorded != total {
			t.Errorf("%+v: %d of %d attempts are recorded as busy", tt, recorded, total)
		}
		// The last section does not count: the liveness phase begins during it, and other rules end
		// it.
		whole := sections[:max(0, len(sections)-1)]
		if wrong := slices.ContainsFunc(whole, func(n int) bool { return n != tt.attempts }); wrong || len(whole) == 0 != (tt.attempts == 0) {
			t.Errorf("%+v: critical sections of %v attempts", tt, sections)
		}
	}
}

func TestAnErrorEndsBoundedPolling(t *testing.T) {
	lost := errors.New("connection lost")
	o := options
	o.Clients = 1
	tries, rests := 0, []int{}
	e := &fakeEnv{at: func(_ int, step string) error {
		if step == testbed.StepRest {
			rests = append(rests, tries)
		}
		return nil
	}}
	if _, err := play(t, "mutex", e, o, func(l *memoryLock) {
		l.polled = true
		l.try = func() error {
			if tries++; tries == 2 {
				return lost
			}
			return locks.ErrBusy
		}
	}); err != nil {
		t.Fatal(err)
	}
	if len(rests) == 0 || rests[0] != 2 {
		t.Errorf("the client rested after %v attempts, want first after 2", rests)
	}
}

func sum(of []int) (total int) {
	for _, n := range of {
		total += n
	}
	return total
}
