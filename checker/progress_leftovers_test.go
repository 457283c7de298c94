package checker

import (
	"testing"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/history"
)

func TestWhatAttemptsLeaveBehindIsMeasured(t *testing.T) {
	set := func(token string) []string { return []string{"SET", "lock", token, "PX", "1000", "NX"} }
	// given is an attempt of c0 that was granted, although c0 does not know it.
	given := func(s *story) {
		s.invoke(9, 0, history.FAcquire)
		s.unanswered(10, 0, "OK", set("t0")...)
		s.done(50, 0, history.Info, history.Lease{Token: "t0"})
	}
	for _, c := range []struct {
		name  string
		tale  func(*story)
		n     int
		until time.Duration
	}{
		{"a grant that is used", func(s *story) {
			s.take(10, 0, "OK", set("t0")...)
			s.give(90, 0, "1", s.cad("t0")...)
		}, 0, 0},
		{"until it expires", func(s *story) {
			given(s)
			s.busy(200, 1, "nil", set("t1")...)
			s.take(1100, 1, "OK", set("t1")...)
			s.give(1150, 1, "1", s.cad("t1")...)
		}, 1, ms(1010)},
		{"until it is given back", func(s *story) {
			given(s)
			s.give(300, 0, "1", s.cad("t0")...)
		}, 1, ms(300)},
		{"until its client is gone", func(s *story) {
			given(s)
			s.nemesis(400, history.Op{Client: 0, F: history.FCrash})
			s.busy(500, 1, "nil", set("t1")...)
		}, 1, ms(400)},
	} {
		s := tell(t, "set-nx-px")
		c.tale(s)
		e := s.evidence()
		all, p := progress.Leftovers(e), progress.Measure(e)
		if len(all) != c.n || p.Leftovers != c.n {
			t.Errorf("%s: %d listed, %d counted, want %d", c.name, len(all), p.Leftovers, c.n)
			continue
		}
		if c.n == 0 {
			continue
		}
		l := all[0]
		if l != p.LeftoverMost || l.Client != 0 || l.Key != "lock" || l.From != ms(50) || p.LeftoverSum != (l.Until-l.From) {
			t.Errorf("%s: %+v of %+v", c.name, l, p)
		}
		if d := l.Until - c.until; d < -5*time.Millisecond || d > 5*time.Millisecond {
			t.Errorf("%s: until %v, want about %v", c.name, l.Until, c.until)
		}
	}
}
