package locks

import (
	"slices"
	"testing"
	"time"
)

// timerOf returns the latest watchdog of a reentrant-hash-watchdog or redisson lock; nil if the last
// release has removed it.
func timerOf(l Lock) *watchdog {
	switch l := l.(type) {
	case *reentrantHashWatchdog:
		l.timers.mu.Lock()
		defer l.timers.mu.Unlock()
		return l.timers.byID[l.key]
	case *redisson:
		l.renewals.mu.Lock()
		defer l.renewals.mu.Unlock()
		if r := l.renewals.byKey[l.key]; r != nil {
			return r.dog
		}
	}
	return nil
}

// renewing lists the recipes whose watchdog checks the owner.
var renewing = []struct {
	recipe string
	ttl    time.Duration
	wire   string // the command of a renewal
}{
	{"reentrant-hash-watchdog", 600 * time.Millisecond, "EVALSHA hash-renew 1 k $token 1"},
	{"redisson", 600 * time.Millisecond, "EVALSHA redisson-renew 1 k $token 600"},
}

func TestOwnerCheckedWatchdogRenews(t *testing.T) {
	for _, tt := range renewing {
		t.Run(tt.recipe, func(t *testing.T) {
			c := newClient(t, 0)
			loadScripts(t, c, hashEnter, hashRenew, redissonEnter, redissonRenew)
			l := newLock(t, tt.recipe, c, tt.ttl)
			var lease Lease
			got := wire(seen(t, func() {
				lease = acquire(t, l)
				shorten(t, c, "k", 500*time.Millisecond)
				eventually(t, "the key was renewed", func() bool { return life(t, c, "k") > 500*time.Millisecond })
			}))
			if want := withToken([]string{tt.wire}, lease.Token)[0]; !slices.Contains(got, want) {
				t.Errorf("the node saw %q, want among them %q", got, want)
			}
		})
	}
}

func TestOwnerCheckedWatchdogLeavesAnothersKeyAloneAndEnds(t *testing.T) {
	for _, tt := range renewing {
		t.Run(tt.recipe, func(t *testing.T) {
			c := newClient(t, 0)
			l := newLock(t, tt.recipe, c, tt.ttl)
			acquire(t, l)
			timer := timerOf(l)
			expireNow(t, c, "k")
			if err := c.Nodes[0].HSet(t.Context(), "k", "another", 1).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the watchdog ended", func() bool { return !timer.alive() })
			if got := life(t, c, "k"); got != -1 {
				t.Errorf("the other's key was given a life of %v", got)
			}
		})
	}
}

func TestRedissonsWatchdogEndsForGoodWhenItsLastAttemptFails(t *testing.T) {
	c := newClient(t, 0)
	failing(c, "redisson-renew", func(int) bool { return true })
	l := newLock(t, "redisson", c, 60*time.Millisecond)
	acquire(t, l)
	timer := timerOf(l)
	eventually(t, "the watchdog ended", func() bool { return !timer.alive() })
}

func TestOneWatchdogLivesFromTheFirstEntryToTheFinalRelease(t *testing.T) {
	for _, tt := range renewing {
		t.Run(tt.recipe, func(t *testing.T) {
			l := newLock(t, tt.recipe, newClient(t, 0), time.Minute)
			lease := acquire(t, l)
			timer := timerOf(l)
			acquire(t, l)
			if timerOf(l) != timer {
				t.Error("re-entry started another watchdog")
			}
			for _, alive := range []bool{true, false} {
				if err := l.Unlock(t.Context(), lease); err != nil {
					t.Fatal(err)
				}
				if timer.alive() != alive {
					t.Errorf("the watchdog lives: %t, want %t", timer.alive(), alive)
				}
			}
		})
	}
}

func TestAReleaseThatIsLostLeavesD2sTimerRunningAndStopsRedissons(t *testing.T) {
	for _, tt := range renewing {
		t.Run(tt.recipe, func(t *testing.T) {
			c := newClient(t, 0)
			for _, script := range []string{"hash-leave", "redisson-leave"} {
				failing(c, script, func(int) bool { return true })
			}
			l := newLock(t, tt.recipe, c, time.Minute)
			lease := acquire(t, l)
			timer := timerOf(l)
			if err := l.Unlock(t.Context(), lease); err == nil {
				t.Fatal("the release was not lost")
			}
			if got, want := timer.alive(), tt.recipe != "redisson"; got != want {
				t.Errorf("the watchdog lives on: %t, want %t", got, want)
			}
		})
	}
}
