package plots

import (
	"cmp"
	"slices"
	"time"
)

// Latency summarizes durations of one recipe: the durations of its successful acquires without
// faults, or of its overlaps (function overlaps). The duration of an acquire is that of one
// attempt. It includes the time for which the lock itself waits, but no earlier, failed attempts.
type Latency struct {
	Lock   string        `json:"lock"`
	N      int           `json:"n"`
	Min    time.Duration `json:"min"`
	Median time.Duration `json:"median"`
	P90    time.Duration `json:"p90"`
	P99    time.Duration `json:"p99"`
	Max    time.Duration `json:"max"`
}

// Summarize returns a Latency for every lock that has samples, sorted by name.
func Summarize(samples map[string][]time.Duration) []Latency {
	var out []Latency
	for lock, times := range samples {
		if len(times) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(times))
		at := func(q float64) time.Duration { return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))] }
		out = append(out, Latency{
			Lock: lock, N: len(sorted), Min: sorted[0], Median: at(0.5), P90: at(0.9), P99: at(0.99), Max: sorted[len(sorted)-1],
		})
	}
	slices.SortFunc(out, func(a, b Latency) int { return cmp.Compare(a.Lock, b.Lock) })
	return out
}

// Merge returns the stored latencies and, for locks without a stored latency, the latencies in
// now. Stored latencies win because they include trials whose histories were not kept.
func Merge(stored, now []Latency) []Latency {
	out := slices.Clone(stored)
	for _, l := range now {
		if !slices.ContainsFunc(stored, func(n Latency) bool { return n.Lock == l.Lock }) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Latency) int { return cmp.Compare(a.Lock, b.Lock) })
	return out
}
