package plots

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
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
		out = append(out, Latency{lock, len(sorted), sorted[0], at(0.5), at(0.9), at(0.99), sorted[len(sorted)-1]})
	}
	return byLock(out)
}

func byLock(all []Latency) []Latency {
	slices.SortStableFunc(all, func(a, b Latency) int { return cmp.Compare(a.Lock, b.Lock) })
	return all
}

// Merge returns the stored latencies and, for locks without a stored latency, the latencies in
// now. Stored latencies win because they include trials whose histories were not kept.
func Merge(stored, now []Latency) []Latency {
	return byLock(slices.CompactFunc(byLock(slices.Concat(stored, now)), func(a, b Latency) bool { return a.Lock == b.Lock }))
}

// spreads draws durations of each lock on a logarithmic scale: a line from the minimum to the 99th
// percentile, a bar from the median to the 90th percentile, and the median as text.
func spreads(title, measures string, rows []Latency) *chart {
	if len(rows) == 0 {
		return nil
	}
	var names []string
	lo, hi := math.Inf(1), 0.0
	for _, l := range rows {
		names = append(names, l.Lock)
		lo, hi = min(lo, log(l.Min)), max(hi, log(l.P99))
	}
	lo, hi = math.Floor(lo*4)/4, math.Ceil(hi*4)/4
	if hi <= lo {
		hi = lo + 1
	}
	c := newChart(title)
	p := c.panel(names, plotRow, lo, hi+(hi-lo)/8) // room for the text of the last median
	ticks := logTicks(lo, p.most)
	for _, t := range ticks {
		p.Line(svg.Rule, 0.4, p.x(t.at), p.top, p.x(t.at), p.Height)
	}
	for i, l := range rows {
		y, median := p.y(i)+plotRow/2, p.x(log(l.Median))
		p.Line(svg.Muted, 0.8, p.x(log(l.Min)), y, p.x(log(l.P99)), y)
		p.Box(barInk, 0.45, median, y-4, max(p.x(log(l.P90))-median, 1), 8)
		p.Box(barInk, 1, median-1, y-5, 2, 10)
		p.Write(svg.Words{Size: smallFont}, p.x(log(l.P99))+4, y, wording.Length(rounded(l.Median)))
	}
	p.axis(measures, false, ticks)
	return c
}

// rounded rounds a duration to two significant digits.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 100 {
		unit *= 10
	}
	return d.Round(unit)
}

// log returns the decimal logarithm of a duration in microseconds.
func log(d time.Duration) float64 { return math.Log10(max(0.1, float64(d.Nanoseconds())/1000)) }

// logTicks labels 1, 2 and 5 times each power of ten of microseconds; only the powers, if there
// are many.
func logTicks(from, to float64) (ticks []tick) {
	for power := math.Floor(from); power <= to; power++ {
		for _, m := range []float64{1, 2, 5} {
			if v := power + math.Log10(m); v >= from && v <= to && (m == 1 || to-from < 2.5) {
				us := m * math.Pow(10, power)
				ticks = append(ticks, tick{v, strings.Replace(wording.Length(time.Duration(us*1000)), " ", "\u00a0", 1)})
			}
		}
	}
	return ticks
}

// plotLatency draws the durations of acquires without a fault.
func plotLatency(c Campaign) (*chart, [][]string) {
	return spreads("Acquire without faults, with the median", "one attempt, its own waiting included: least to 99th percentile · bar: median to 90th", c.Latency), nil
}

// leastOverlaps is the minimum number of trials with an overlap for meaningful percentiles of a
// recipe.
const leastOverlaps = 10

// overlaps summarizes, for each recipe, the longest overlap of each trial: how long two clients
// held one lock at once. It counts trials of the recipe's workload (ComparedIn) that had an
// overlap, but no trials of a sweep.
func overlaps(trials []trial.Result) []Latency {
	in := ComparedIn(trials)
	longest := map[string][]time.Duration{}
	for _, t := range trials {
		if d := longestOverlap(t); d > 0 && t.Spec.Size == 0 && t.Spec.Workload == in[t.Spec.Lock] {
			longest[t.Spec.Lock] = append(longest[t.Spec.Lock], d)
		}
	}
	return slices.DeleteFunc(Summarize(longest), func(l Latency) bool { return l.N < leastOverlaps })
}

// longestOverlap returns the longest time for which two clients held one lock in a trial; 0 if
// they never did.
func longestOverlap(t trial.Result) (longest time.Duration) {
	for _, v := range t.Verdicts {
		if v.Result == checker.Violated && checker.OracleNamed(v.Oracle).Harm == checker.HarmOverlap {
			for _, f := range v.Findings {
				longest = max(longest, f.To-f.From)
			}
		}
	}
	return longest
}

// plotOverlaps draws the overlaps of each recipe. The figures are in milliseconds.
func plotOverlaps(c Campaign) (*chart, [][]string) {
	rows, in := overlaps(c.Trials), ComparedIn(c.Trials)
	table := [][]string{{"recipe", "workload", "trials with an overlap", "least ms", "median ms", "90th percentile ms", "99th percentile ms", "longest ms"}}
	for _, l := range rows {
		row := []string{l.Lock, in[l.Lock], strconv.Itoa(l.N)}
		for _, d := range []time.Duration{l.Min, l.Median, l.P90, l.P99, l.Max} {
			row = append(row, decimals(float64(d)/float64(time.Millisecond), 3))
		}
		table = append(table, row)
	}
	return spreads("How long two clients held the lock at once, with the median",
		"longest overlap of each trial: least to 99th percentile · bar: median to 90th", rows), table
}
