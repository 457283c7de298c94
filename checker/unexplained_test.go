package checker

import "testing"

// A key vanishes, and nobody knows why. If its TTL runs out at that time, the key counts as
// expired. If the TTL is far from its end, the disappearance explains nothing.
func TestAnEndThatNobodySaw(t *testing.T) {
	gone := func(at float64) func(*story) {
		return func(s *story) {
			s.take(10, 0, "OK", setPX("t0")...)
			s.unexplained(at, "DEL", "lock")
			s.hold(1100, 1150, 1, "t1")
			s.give(1200, 0, "0", s.cad("t0")...)
		}
	}
	tales(t, []tale{
		{"when its life was over", "set-nx-px", gone(1010), []string{"exclusion: lease-outlived", "ownership: unknown"}},
		{"in the middle of its life", "set-nx-px", gone(500), []string{"exclusion: unclassified", "ownership: unknown"}},
	})
}
