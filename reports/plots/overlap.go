package plots

import (
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/reports/internal/svg"
	"github.com/lockstorm/lockstorm/trial"
)

// leastOverlaps is the minimum number of trials with an overlap for meaningful percentiles of a
// recipe.
const leastOverlaps = 10

// overlaps summarizes, for each recipe, the longest overlap of each trial: how long two clients
// held one lock at once. It counts trials of the recipe's workload (ComparedIn) that had an
// overlap, but no trials of a sweep.
func overlaps(trials []trial.Result) []Latency {
	in, oracles := ComparedIn(trials), ofOverlaps()
	longest := map[string][]time.Duration{}
	for _, t := range trials {
		if d := longestOverlap(t, oracles); d > 0 && t.Spec.Size == 0 && t.Spec.Workload == in[t.Spec.Lock] {
			longest[t.Spec.Lock] = append(longest[t.Spec.Lock], d)
		}
	}
	var rows []Latency
	for _, l := range Summarize(longest) {
		if l.N >= leastOverlaps {
			rows = append(rows, l)
		}
	}
	return rows
}

// ofOverlaps returns the names of the oracles whose findings are overlapping holds.
func ofOverlaps() map[string]bool {
	names := map[string]bool{}
	for _, o := range checker.Oracles() {
		names[o.Name] = o.Harm == checker.HarmOverlap
	}
	return names
}

// longestOverlap returns the longest time for which two clients held one lock in a trial; 0 if
// they never did.
func longestOverlap(t trial.Result, oracles map[string]bool) (longest time.Duration) {
	for _, v := range t.Verdicts {
		if v.Result != checker.Violated || !oracles[v.Oracle] {
			continue
		}
		for _, f := range v.Findings {
			longest = max(longest, f.To-f.From)
		}
	}
	return longest
}

// plotOverlaps draws the overlaps of each recipe.
func plotOverlaps(c Campaign) *svg.Picture {
	return spreads("How long two clients held the lock at once, with the median",
		"longest overlap of each trial: least to 99th percentile · bar: median to 90th", overlaps(c.Trials))
}

// overlapTable returns the figures of the plot, in milliseconds.
func overlapTable(c Campaign) [][]string {
	rows := [][]string{{"recipe", "workload", "trials with an overlap", "least ms", "median ms", "90th percentile ms", "99th percentile ms", "longest ms"}}
	in := ComparedIn(c.Trials)
	for _, l := range overlaps(c.Trials) {
		row := []string{l.Lock, in[l.Lock], strconv.Itoa(l.N)}
		for _, d := range []time.Duration{l.Min, l.Median, l.P90, l.P99, l.Max} {
			row = append(row, strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64))
		}
		rows = append(rows, row)
	}
	return rows
}
