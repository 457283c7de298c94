package checker

import "testing"

// An end that nobody saw just when the key's life was over let the next in as that did.
// One that came long before explains nothing.
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
