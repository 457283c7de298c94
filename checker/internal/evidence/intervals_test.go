package evidence

import (
	"slices"
	"testing"
	"time"
)

func TestIntervals(t *testing.T) {
	for _, c := range []struct {
		name               string
		all, without       []Interval
		merged, subtracted []Interval
	}{
		{name: "nothing"},
		{"empty ones are dropped", []Interval{{3, 3}, {5, 4}}, nil, nil, nil},
		{"those that overlap or touch are joined", []Interval{{4, 6}, {1, 2}, {2, 3}, {5, 9}}, nil, []Interval{{1, 3}, {4, 9}}, []Interval{{1, 3}, {4, 9}}},
		{"a hole", []Interval{{1, 9}}, []Interval{{3, 4}, {6, 7}}, []Interval{{1, 9}}, []Interval{{1, 3}, {4, 6}, {7, 9}}},
		{"an edge and all", []Interval{{1, 3}, {5, 6}}, []Interval{{0, 2}, {4, 8}}, []Interval{{1, 3}, {5, 6}}, []Interval{{2, 3}}},
	} {
		merged := Merged(c.all)
		if !slices.Equal(merged, c.merged) {
			t.Errorf("%s: merged to %v, want %v", c.name, merged, c.merged)
		}
		if got := Subtract(merged, c.without); !slices.Equal(got, c.subtracted) {
			t.Errorf("%s: without %v: %v, want %v", c.name, c.without, got, c.subtracted)
		}
	}
}

func TestAnIntervalHasItsBeginningAndNotItsEnd(t *testing.T) {
	all := []Interval{{1, 3}, {5, 6}}
	for at, want := range map[time.Duration]bool{0: false, 1: true, 2: true, 3: false, 5: true, 6: false} {
		if got, _ := IntervalAt(all, at); got != want {
			t.Errorf("%d: %v, want %v", at, got, want)
		}
	}
}

func TestAClockThatJumps(t *testing.T) {
	forward, back := Clock{{Since: 10, Ahead: 100}}, Clock{{Since: 10, Ahead: -100}}
	for _, c := range []struct {
		name       string
		clock      Clock
		wall, from time.Duration
		want       time.Duration
	}{
		{"a right one", nil, 50, 20, 50},
		{"it shows that already", nil, 50, 60, 60},
		{"it jumps over the time", forward, 50, 5, 10},
		{"it shows the time before it is set back", back, 8, 5, 8},
		{"it is set back before", back, 50, 5, 150},
	} {
		if got := c.clock.Shows(c.wall, c.from); got != c.want {
			t.Errorf("%s: shows %d at %d, want %d", c.name, c.wall, got, c.want)
		}
	}
	if back.Before(5, 6, 9) || !back.Before(5, 6, 20) {
		t.Error("a clock shows an earlier time again only after it was set back")
	}
}
