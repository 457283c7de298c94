package locktest

import (
	"slices"
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/locks"
)

// The fault client-skew sets a client's wall clock wrong.
func TestOnlyALockThatReadsTheWallClockIsTestedUnderClientSkew(t *testing.T) {
	for _, reads := range []bool{false, true} {
		if got := slices.Contains(Options{WallClock: reads}.allFaults(), "client-skew"); got != reads {
			t.Errorf("WallClock is %t: client-skew is among the faults: %t", reads, got)
		}
	}
}

// Held.Until is a time of the clock that its instant shows. If it shows none, the options say which.
func TestADeadlineIsOfTheClockThatTheLockReads(t *testing.T) {
	now := time.Now()
	wall := newClient(&locks.Client{Now: func() time.Time { return now.Round(0) }}).Now().Add(time.Second)
	for name, c := range map[string]struct {
		until     time.Time
		options   Options
		monotonic bool
	}{
		"no option":                               {until: time.Unix(100, 0), monotonic: true},
		"WallClock":                               {until: time.Unix(100, 0), options: Options{WallClock: true}},
		"WallClock and Monotonic":                 {until: time.Unix(100, 0), options: Options{WallClock: true, Monotonic: true}, monotonic: true},
		"an instant of Client.Now":                {until: wall},
		"an instant of Client.Now, Monotonic":     {until: wall, options: Options{Monotonic: true}},
		"a monotonic reading":                     {until: now, monotonic: true},
		"a monotonic reading, WallClock":          {until: now, options: Options{WallClock: true}, monotonic: true},
		"the zero time, which claims no deadline": {until: time.Time{}, monotonic: true},
	} {
		h := lock{Options: c.options}.handle(nil, "", 0).(*handle)
		if l := h.lease(Held{Until: func() time.Time { return c.until }}); !l.Deadline.Equal(c.until) || l.Monotonic != c.monotonic {
			t.Errorf("%s: the deadline is %v, monotonic: %t, want %t", name, l.Deadline, l.Monotonic, c.monotonic)
		}
	}
}
