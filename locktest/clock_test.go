package locktest

import (
	"slices"
	"testing"
	"time"
)

// The fault client-skew sets a client's wall clock wrong.
func TestOnlyALockThatReadsTheWallClockIsTestedUnderClientSkew(t *testing.T) {
	for _, reads := range []bool{false, true} {
		if got := slices.Contains(Options{WallClock: reads}.allFaults(), "client-skew"); got != reads {
			t.Errorf("WallClock is %t: client-skew is among the faults: %t", reads, got)
		}
	}
}

// Held.Until is a time of the wall clock if the lock reads the wall clock, and otherwise of the
// monotonic clock.
func TestADeadlineIsOfTheClockThatTheLockReads(t *testing.T) {
	end := time.Unix(100, 0)
	for _, wall := range []bool{false, true} {
		h := &handle{wallClock: wall}
		if l := h.lease(Held{Until: func() time.Time { return end }}); !l.Deadline.Equal(end) || l.Monotonic == wall {
			t.Errorf("wall clock: %t: the deadline is %v, monotonic: %t", wall, l.Deadline, l.Monotonic)
		}
	}
}
