package reports

import (
	"cmp"
	"slices"
	"time"
)

// latency sums up the durations of one recipe's successful acquires without faults. A
// duration is that of one attempt, without the wait for other holders.
type latency struct {
	Lock   string        `json:"lock"`
	N      int           `json:"n"`
	Min    time.Duration `json:"min"`
	Median time.Duration `json:"median"`
	P90    time.Duration `json:"p90"`
	P99    time.Duration `json:"p99"`
	Max    time.Duration `json:"max"`
}

// summarize returns the latencies of every lock with samples, sorted by name.
func summarize(samples map[string][]time.Duration) []latency {
	var out []latency
	for lock, times := range samples {
		if len(times) == 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(times))
		at := func(q float64) time.Duration { return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))] }
		out = append(out, latency{
			Lock: lock, N: len(sorted), Min: sorted[0], Median: at(0.5), P90: at(0.9), P99: at(0.99), Max: sorted[len(sorted)-1],
		})
	}
	slices.SortFunc(out, func(a, b latency) int { return cmp.Compare(a.Lock, b.Lock) })
	return out
}

// merge returns the stored latencies, and those of now for other locks. Stored ones win:
// they include trials whose histories were not kept.
func merge(stored, now []latency) []latency {
	out := slices.Clone(stored)
	for _, l := range now {
		if !slices.ContainsFunc(stored, func(n latency) bool { return n.Lock == l.Lock }) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b latency) int { return cmp.Compare(a.Lock, b.Lock) })
	return out
}
