package trial

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/history"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/testbed"
	"github.com/lockstorm/lockstorm/workloads"
)

// The time limit includes the time for which an action waits for a point that no client
// reaches.
func TestTheTimeLimitAllowsForActionsThatWaitInVain(t *testing.T) {
	const by, lasts = 5 * time.Minute, 10 * time.Second
	s := Spec{
		Options: workloads.Options{Clients: 1, Keys: 1, TTL: 30 * time.Second, Hold: 3 * time.Second, Duration: 90 * time.Second, Overrun: 0.5},
		Plan:    nemesis.Plan{{ID: 1, At: time.Second, By: by, For: lasts, Point: &nemesis.Trigger{Step: testbed.StepAcquire}}},
	}
	held := s.Options.TTL * 3 / 2 // the longest section of a client that overruns
	if got, least := s.timeLimit(history.Claims{TTL: s.Options.TTL, Recovery: s.Options.TTL}), by+lasts+held+s.Options.TTL; got < least {
		t.Errorf("the limit is %v, want %v at least", got, least)
	}
}
