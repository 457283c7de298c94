package workloads_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/history"
)

// The lock excludes in both lotteries. In lottery-unmarked no client records that the draw was made,
// so another client whose timer fires late draws again.
func TestOnlyTheNoteKeepsTheLotteryFromASecondDraw(t *testing.T) {
	for _, lock := range []string{"set-nx-px", "redisson", "setnx"} {
		for workload, want := range map[string]checker.Result{"lottery": checker.Held, "lottery-unmarked": checker.Violated} {
			for seed := range uint64(3) {
				s := spec(lock, workload, seed)
				s.Options.Clients = 6
				e := run(t, s)
				for _, oracle := range []string{"exclusion", "resource"} {
					if v := said(t, e, oracle); v.Result != checker.Held {
						t.Errorf("%s, %s, seed %d: %s is %s: %v", lock, workload, seed, oracle, v.Result, v.Findings)
					}
				}
				if v := said(t, e, "draws"); v.Result != want {
					t.Errorf("%s, %s, seed %d: draws is %s %s, want %s", lock, workload, seed, v.Result, v.Why, want)
				}
			}
		}
	}
}

// With a short lease, some timers fire very close to the instant at which another client writes or
// receives something. The trial must still repeat itself.
func TestDrawsOfAShortLeaseAreTheSameEachTime(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make thorough runs it")
	}
	for _, workload := range []string{"lottery", "lottery-unmarked", "d3-test-basic"} {
		for seed := uint64(3); seed < 5; seed++ {
			s := spec("set-nx-px", workload, seed)
			s.Options.Clients, s.Options.TTL, s.Options.Hold, s.Options.Rest, s.Options.Retry = 6, 10*time.Millisecond, time.Millisecond, time.Millisecond/2, time.Millisecond/2
			first := run(t, s)
			for range 2 {
				if again := run(t, s); !slices.EqualFunc(first.Ops, again.Ops, sameEvent) {
					t.Fatalf("%s, seed %d: the same trial has another history when it is run again", workload, seed)
				}
			}
		}
	}
}

func sameEvent(a, b history.Op) bool {
	return a.Process == b.Process && a.Time == b.Time && a.F == b.F && a.Type == b.Type
}
