package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// notSeen stands for a figure without cases.
const notSeen = "–"

// fared is what a cell's measurable trials show of its clients' progress. A typical figure is the median of the
// trials' figures, so that all trials count the same. A maximum is over all trials. A mean is over all cases of all
// trials.
type fared []trial.Result

// figures returns a figure of each trial that has it.
func figures[T any](f fared, of func(p progress.Measures) (figure T, has bool)) (all []T) {
	for _, t := range f {
		if x, has := of(*t.Progress); has {
			all = append(all, x)
		}
	}
	return all
}

// total returns the sum of a figure over all trials.
func (f fared) total(of func(p progress.Measures) int) (sum int) {
	for _, n := range figures(f, func(p progress.Measures) (int, bool) { return of(p), true }) {
		sum += n
	}
	return sum
}

// typical writes the median of the trials' times; notSeen if no trial has one.
func (f fared) typical(of func(p progress.Measures) (time.Duration, bool)) string {
	all := figures(f, of)
	if len(all) == 0 {
		return notSeen
	}
	return about(plots.Median(all))
}

// cases writes the mean and the maximum of times; of returns the number, the sum and the maximum of a trial's.
func (f fared) cases(of func(p progress.Measures) (n int, sum, most time.Duration)) string {
	var n int
	var sum, most time.Duration
	for _, t := range f {
		m, s, x := of(*t.Progress)
		n, sum, most = n+m, sum+s, max(most, x)
	}
	switch n {
	case 0:
		return notSeen
	case 1:
		return about(most)
	}
	return about(sum/time.Duration(n)) + " / " + about(most)
}

// outOf writes a count of cases; notSeen if there are none.
func outOf(n, all int) string {
	if all == 0 {
		return notSeen
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// pair writes the figures that two functions choose from the trials'; notSeen if there are none.
func pair[T any](all []T, format string, first, second func([]T) T) string {
	if len(all) == 0 {
		return notSeen
	}
	return fmt.Sprintf(format, first(all), second(all))
}

func waits(p progress.Measures) int       { return p.Waits }
func inVain(p progress.Measures) int      { return p.InVain }
func recoveries(p progress.Measures) int  { return p.Recoveries }
func unrecovered(p progress.Measures) int { return p.Unrecovered }

func typicalWait(p progress.Measures) (time.Duration, bool) { return p.WaitMedian, p.Waits > 0 }

// measured is a column of the progress table.
type measured struct {
	Name, Meaning string
	words         func(fared) string
}

// measures are the columns, explained for an engineer who runs a service.
var measures = []measured{
	{"trials", "Trials of the recipe's workload in which the fault hit something. Other trials do not count here; a fault without such trials has no row.", func(f fared) string { return strconv.Itoa(len(f)) }},
	{"typical wait", "The time from a client's first attempt, through its failed attempts, until it got the lock: the median of the trials' medians.",
		func(f fared) string { return f.typical(typicalWait) }},
	{"slow wait", "One wait in twenty was longer: the median of the trials' 95th percentiles.", func(f fared) string {
		return f.typical(func(p progress.Measures) (time.Duration, bool) { return p.WaitP95, p.Waits > 0 })
	}},
	{"longest wait", "The longest wait of all trials that ended with the lock.", func(f fared) string {
		all := figures(f, func(p progress.Measures) (time.Duration, bool) { return p.WaitMax, p.Waits > 0 })
		if len(all) == 0 {
			return notSeen
		}
		return about(slices.Max(all))
	}},
	{"in vain", "Waits that ended without the lock, of all waits: the client crashed, or the trial ended. " +
		"The columns before do not include them: read all four together.", func(f fared) string {
		return outOf(f.total(inVain), f.total(waits)+f.total(inVain))
	}},
	{"overtaken", "How often other clients got the lock during one client's wait: the maximum of all trials.", func(f fared) string {
		return strconv.Itoa(slices.Max(figures(f, func(p progress.Measures) (int, bool) { return p.BypassesMax, true })))
	}},
	{"fairness", "How evenly the clients that asked shared the lock (Jain's index): 1 if all got it equally often, 0.33 if one of three clients always got it. " +
		"The median of the trials / the minimum. Only trials with at least as many grants as clients count; a crashed client counts like any other.", func(f fared) string {
		all := figures(f, func(p progress.Measures) (float64, bool) { return p.Jain, plots.Shared(p) })
		return pair(all, "%.2f / %.2f", plots.Median, slices.Min)
	}},
	{"noticed after", "How long a holder did not know that its lock was gone, until it was told or found out. The mean of all cases / the longest. Holders that never found out do not count.", func(f fared) string {
		return f.cases(func(p progress.Measures) (int, time.Duration, time.Duration) {
			return p.Losses, p.LossLagSum, p.LossLagMax
		})
	}},
	{"orphaned key", "How long a key without a living owner stood in Redis: the time that a crash costs the other clients. " +
		"The mean of all cases / the longest.", func(f fared) string {
		return f.cases(func(p progress.Measures) (int, time.Duration, time.Duration) {
			return p.Orphans, p.OrphanSum, p.OrphanMax
		})
	}},
	{"left behind", "How long a key of a finished attempt stood in Redis, although the attempt was refused or its outcome was unknown, while its client lived on. " +
		"The mean of all cases / the longest.", func(f fared) string {
		return f.cases(func(p progress.Measures) (int, time.Duration, time.Duration) {
			return p.Leftovers, p.LeftoverSum, p.LeftoverMost.Until - p.LeftoverMost.From
		})
	}},
	{"recovery", "The time until a client got the lock, from the end of a fault, from a crash, or from the moment when a client began to hang in its work. The mean of all cases / the longest.", func(f fared) string {
		return f.cases(func(p progress.Measures) (int, time.Duration, time.Duration) {
			return p.Recoveries, p.RecoverySum, p.RecoveryMax
		})
	}},
	{"no recovery", "Faults after which clients asked for the lock, but no client got it before the trial ended, in all trials together. " +
		"The column before does not include them.", func(f fared) string {
		return outOf(f.total(unrecovered), f.total(recoveries)+f.total(unrecovered))
	}},
	{"commands a grant", "What a grant costs Redis: the commands of its client, from the first attempt through renewals to the release. " +
		"The median of the trials' medians / the maximum of all grants.", func(f fared) string {
		all := figures(f, func(p progress.Measures) (int, bool) { return p.GrantCommandsMedian, p.GrantCommandsMax > 0 })
		most := figures(f, func(p progress.Measures) (int, bool) { return p.GrantCommandsMax, true })
		return pair(all, "%d / %d", plots.Median, func([]int) int { return slices.Max(most) })
	}},
	{"commands a second", "What a held lock costs Redis: the commands about it per second in which a client believed that it held the lock, including the commands of waiting clients. " +
		"The median of the trials / the maximum.", func(f fared) string {
		all := figures(f, func(p progress.Measures) (float64, bool) { return p.HeldRate(), p.HeldTime > 0 })
		return pair(all, "%.0f / %.0f", plots.Median, slices.Max)
	}},
}

// about writes a duration with as many digits as comparing needs.
func about(d time.Duration) string {
	switch {
	case d < time.Millisecond/2:
		return "< 1 ms"
	case d < time.Second-time.Millisecond/2:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 0, 64) + " ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 0, 64) + " s"
}

// progressTable shows the progress of one recipe's clients in one workload, a row for each fault.
type progressTable struct {
	Recipe, Workload, Gist string
	Rows                   []progressRow
}

// progressRow has a text for each of the measures.
type progressRow struct {
	Fault string
	Texts []string
}

// progressTables returns the tables in the matrix's order; none if nothing was measured. All
// figures of a recipe come from one workload (plots.ComparedIn), because figures of different
// workloads cannot be compared.
func progressTables(recipes, faults []string, trials []trial.Result) []progressTable {
	in := plots.ComparedIn(trials)
	cells := plots.Measured(trials, in)
	var out []progressTable
	for _, recipe := range recipes {
		t := progressTable{Recipe: recipe, Workload: in[recipe], Gist: gist(cells, recipe, faults)}
		for _, fault := range faults {
			f := cells[plots.CellKey{Lock: recipe, Fault: fault}]
			if f == nil {
				continue
			}
			row := progressRow{Fault: fault}
			for _, m := range measures {
				row.Texts = append(row.Texts, m.words(f))
			}
			t.Rows = append(t.Rows, row)
		}
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// gist returns the line that stays visible while a recipe's table is collapsed.
func gist(cells map[plots.CellKey][]trial.Result, recipe string, faults []string) string {
	var quiet, slowest, stuck string
	longest, never := time.Duration(0), 0
	for _, fault := range faults {
		f := fared(cells[plots.CellKey{Lock: recipe, Fault: fault}])
		disturbed, overrun := false, 0.0
		for _, t := range f {
			disturbed, overrun = disturbed || len(t.Spec.Plan) > 0, max(overrun, t.Spec.Options.Overrun)
			if back := t.Progress.RecoveryMax; back > longest {
				longest, slowest = back, fmt.Sprintf("slowest recovery: %s (%s)", about(back), fault)
			}
		}
		if wait := f.typical(typicalWait); !disturbed && wait != notSeen {
			quiet = "undisturbed: typical wait " + wait
			if overrun > 0 {
				quiet += fmt.Sprintf(", where %.0f %% of the holds overrun the lease", 100*overrun)
			}
		}
		never += f.total(unrecovered)
	}
	if never > 0 {
		stuck = fmt.Sprintf("no recovery from %d %s", never, wording.Plural(never, "fault"))
	}
	return joinWords(" · ", quiet, slowest, stuck)
}

// joinWords joins the non-empty words.
func joinWords(with string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), with)
}

// Cost returns one line about the lock's commands in one trial, and about the keys that acquire
// attempts left behind; "" if nothing was measured.
func Cost(p progress.Measures) string {
	var grant, held, left string
	if p.GrantCommandsMax > 0 {
		grant = fmt.Sprintf("%d %s a grant, at most %d", p.GrantCommandsMedian, wording.Plural(p.GrantCommandsMedian, "command"), p.GrantCommandsMax)
	}
	if p.HeldTime > 0 {
		held = fmt.Sprintf("%.0f a second while the lock was held", p.HeldRate())
	}
	if l := p.LeftoverMost; p.Leftovers > 0 {
		left = fmt.Sprintf("%d %s left behind by attempts, for the longest time %s on %s by c%d: %s", p.Leftovers, wording.Plural(p.Leftovers, "key"), l.Key, l.Node, l.Client, about(l.Until-l.From))
	}
	return joinWords("; ", grant, held, left)
}
