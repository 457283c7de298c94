package evidence

import (
	"cmp"
	"slices"
	"time"
)

// Interval is a part of a trial, from From until before To.
type Interval struct{ From, To time.Duration }

// Merged sorts intervals and joins those that overlap or touch. It drops empty intervals, and
// overwrites the slice all.
func Merged(all []Interval) []Interval {
	all = slices.DeleteFunc(all, func(s Interval) bool { return s.To <= s.From })
	slices.SortFunc(all, func(a, b Interval) int { return cmp.Compare(a.From, b.From) })
	var joined []Interval
	for _, s := range all {
		if last := len(joined) - 1; last >= 0 && s.From <= joined[last].To {
			joined[last].To = max(joined[last].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// Subtract returns the parts of a that lie outside of b. Both must be merged.
func Subtract(a, b []Interval) []Interval {
	var rest []Interval
	next := 0
	for _, s := range a {
		for next < len(b) && b[next].To <= s.From {
			next++
		}
		for i := next; i < len(b) && b[i].From < s.To; i++ {
			if b[i].From > s.From {
				rest = append(rest, Interval{s.From, b[i].From})
			}
			s.From = max(s.From, b[i].To)
		}
		if s.From < s.To {
			rest = append(rest, s)
		}
	}
	return rest
}

// IntervalAt reports whether t lies in one of the intervals, which must be merged, and returns
// the position of that interval in all.
func IntervalAt(all []Interval, t time.Duration) (within bool, at int) {
	at, _ = slices.BinarySearchFunc(all, t, func(s Interval, t time.Duration) int {
		if s.To <= t {
			return -1
		}
		return 1
	})
	return at < len(all) && all[at].From <= t, at
}
