package foreign_test

import (
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/testbed"
)

// pid returns the process id of the child: a probe tells it.
func (s *stage) pid(make func(string) locks.Lock) int {
	lease, err := make("pid").TryLock(s.ctx)
	if err != nil {
		s.Error(err)
	}
	return int(lease.Fence)
}

func TestAFrozenChildDoesNothingAndItsStallsAreItsOwn(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		l := make("wall")
		undo, err := s.env.(testbed.Clients).PauseClient(0)
		if err != nil {
			s.Error(err)
			return
		}
		answered := time.Now()
		done := sync.WaitGroup{}
		done.Go(func() {
			_, _ = l.TryLock(s.ctx)
			answered = time.Now()
		})
		time.Sleep(300 * time.Millisecond)
		thawed := time.Now()
		if _, err := undo(s.ctx); err != nil {
			s.Error(err)
		}
		if done.Wait(); answered.Before(thawed) {
			s.Error("a frozen child has answered")
		}
		pid := s.pid(make) // a stall that the trial did not cause
		for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
			if err := syscall.Kill(pid, sig); err != nil {
				s.Error(err)
			}
			time.Sleep(250 * time.Millisecond)
		}
		if err := s.child.Settle(); err != nil {
			s.Error(err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.stalls) == 0 {
			s.Fatal("no stall was reported")
		}
		long := 0
		for _, late := range s.stalls {
			if late > 200*time.Millisecond {
				long++
			}
		}
		if long != 1 {
			s.Errorf("stalls are %v, want one long one: not that in which the child was frozen", s.stalls)
		}
	})
}

// The timeout for a reply begins when the command has passed the gate, as it does in the trial's own process.
func TestACommandThatWaitsAtTheGateCostsNoTimeout(t *testing.T) {
	const timeout = 300 * time.Millisecond
	for name, hold := range map[string]func(s *stage){
		"held": func(*stage) { time.Sleep(3 * timeout) },
		"frozen": func(s *stage) {
			undo, err := s.env.(testbed.Clients).PauseClient(0)
			if err != nil {
				s.Error(err)
				return
			}
			time.AfterFunc(3*timeout, func() {
				if _, err := undo(s.ctx); err != nil {
					s.Error(err)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			started(t, testbed.Independent, timeout, func(s *stage) {
				m, err := s.child.Bind(s.ctx, []byte(`"probes"`))
				if err != nil {
					t.Error(err)
					return
				}
				l, err := m("redis", time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.env.Client(0).Step(s.ctx, testbed.StepAcquire); err != nil {
					t.Error(err)
				}
				reached := false
				s.env.At(testbed.Point{Client: 0, Step: testbed.StepAcquire, Node: "n0", N: 1, When: testbed.Before}, func(testbed.Hit) {
					reached = true
					hold(s)
				})
				if lease, err := l.TryLock(s.ctx); err != nil || lease.Fence != 2 {
					t.Errorf("reached %d nodes, %v", lease.Fence, err)
				}
				if !reached {
					t.Error("no command came to the gate")
				}
			})
		})
	}
}

func TestAChildsWallClockIsMoved(t *testing.T) {
	own(t, func(s *stage, make func(string) locks.Lock) {
		l := make("wall")
		s.env.(testbed.Clocks).Skew(0, time.Hour)
		lease, err := l.TryLock(s.ctx)
		if left := time.Until(lease.Deadline); err != nil || left < time.Hour {
			s.Errorf("got %v, the deadline is in %v", err, left)
		}
	})
}
