package reports

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockstorm/lockstorm/checker/progress"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// fared sums up the progress of a cell's clients, over the measurable trials. A typical figure is
// the median of the trials' figures, so that all trials count the same. A maximum is over all
// trials. A mean is over all cases of all trials.
type fared struct {
	Trials    int
	Disturbed bool // some trial had a fault

	waits, inVain         int
	medians, p95s         []time.Duration // one for each trial in which a wait ended with the lock
	longest               time.Duration
	bypasses              int
	fairness              []float64 // one for each trial with enough grants to compare
	losses, orphans, back cases     // holders unaware of a lost key; orphaned keys; recoveries after faults
	never                 int       // pairs of a fault and a lock: after the fault, clients asked for the lock and did not get it

	left         cases     // keys that acquire attempts left behind
	perGrant     []int     // commands per grant: the median of each trial
	mostPerGrant int       // the maximum over all trials
	whileHeld    []float64 // commands per second while the lock was held, for each trial
	overrun      float64   // the greatest share of critical sections that were made to outlast the lease, over all trials
}

// cases holds the count, the sum and the maximum of durations.
type cases struct {
	n         int
	sum, most time.Duration
}

func (c *cases) add(n int, sum, most time.Duration) {
	c.n, c.sum, c.most = c.n+n, c.sum+sum, max(c.most, most)
}

// words returns the mean and the maximum as text.
func (c cases) words() string {
	switch c.n {
	case 0:
		return notSeen
	case 1:
		return about(c.most)
	}
	return about(c.sum/time.Duration(c.n)) + " / " + about(c.most)
}

// notSeen stands for a figure without cases.
const notSeen = "–"

// add adds the figures of a trial.
func (f *fared) add(t trial.Result) {
	p := t.Progress
	f.Trials++
	f.overrun = max(f.overrun, t.Spec.Options.Overrun)
	f.Disturbed = f.Disturbed || len(t.Spec.Plan) > 0
	f.waits, f.inVain = f.waits+p.Waits, f.inVain+p.InVain
	if p.Waits > 0 {
		f.medians, f.p95s = append(f.medians, p.WaitMedian), append(f.p95s, p.WaitP95)
	}
	f.longest, f.bypasses = max(f.longest, p.WaitMax), max(f.bypasses, p.BypassesMax)
	if plots.Shared(*p) {
		f.fairness = append(f.fairness, p.Jain)
	}
	f.losses.add(p.Losses, p.LossLagSum, p.LossLagMax)
	f.orphans.add(p.Orphans, p.OrphanSum, p.OrphanMax)
	f.back.add(p.Recoveries, p.RecoverySum, p.RecoveryMax)
	f.never += p.Unrecovered
	f.left.add(p.Leftovers, p.LeftoverSum, p.LeftoverMost.Until-p.LeftoverMost.From)
	if p.GrantCommandsMax > 0 {
		f.perGrant, f.mostPerGrant = append(f.perGrant, p.GrantCommandsMedian), max(f.mostPerGrant, p.GrantCommandsMax)
	}
	if p.HeldTime > 0 {
		f.whileHeld = append(f.whileHeld, p.HeldRate())
	}
}

// faredIn sums up the measurable trials of each cell.
func faredIn(trials []trial.Result) map[plots.CellKey]*fared {
	out := map[plots.CellKey]*fared{}
	for _, t := range trials {
		if !plots.Measurable(t) {
			continue
		}
		at := plots.CellKey{Lock: t.Spec.Lock, Fault: t.Spec.Fault}
		if out[at] == nil {
			out[at] = &fared{}
		}
		out[at].add(t)
	}
	return out
}

// measured is a column of the progress table.
type measured struct {
	Name, Meaning string
	words         func(fared) string
}

// measures are the columns, explained for an engineer who runs a service.
var measures = []measured{
	{"trials", "Trials of the recipe's workload in which the fault hit something. Other trials do not count here; a fault without such trials has no row.", func(f fared) string { return strconv.Itoa(f.Trials) }},
	{"typical wait", "The time from a client's first attempt, through its failed attempts, until it got the lock: the median of the trials' medians.",
		func(f fared) string { return ofWaits(f.medians) }},
	{"slow wait", "One wait in twenty was longer: the median of the trials' 95th percentiles.", func(f fared) string { return ofWaits(f.p95s) }},
	{"longest wait", "The longest wait of all trials that ended with the lock.", func(f fared) string {
		if f.waits == 0 {
			return notSeen
		}
		return about(f.longest)
	}},
	{"in vain", "Waits that ended without the lock, of all waits: the client crashed, or the trial ended. " +
		"The columns before do not include them: read all four together.", func(f fared) string {
		if f.waits+f.inVain == 0 {
			return notSeen
		}
		return fmt.Sprintf("%d of %d", f.inVain, f.waits+f.inVain)
	}},
	{"overtaken", "How often other clients got the lock during one client's wait: the maximum of all trials.", func(f fared) string { return strconv.Itoa(f.bypasses) }},
	{"fairness", "How evenly the clients that asked shared the lock (Jain's index): 1 if all got it equally often, 0.33 if one of three clients always got it. " +
		"The median of the trials / the minimum. Only trials with at least as many grants as clients count; a crashed client counts like any other.", func(f fared) string {
		if len(f.fairness) == 0 {
			return notSeen
		}
		return fmt.Sprintf("%.2f / %.2f", plots.Median(f.fairness), slices.Min(f.fairness))
	}},
	{"noticed after", "How long a holder did not know that its lock was gone, until it was told or found out. The mean of all cases / the longest. Holders that never found out do not count.", func(f fared) string { return f.losses.words() }},
	{"orphaned key", "How long a key without a living owner stood in Redis: the time that a crash costs the other clients. " +
		"The mean of all cases / the longest.", func(f fared) string { return f.orphans.words() }},
	{"left behind", "How long a key of a finished attempt stood in Redis, although the attempt was refused or its outcome was unknown, while its client lived on. " +
		"The mean of all cases / the longest.", func(f fared) string { return f.left.words() }},
	{"recovery", "The time until a client got the lock, from the end of a fault, from a crash, or from the moment when a client began to hang in its work. The mean of all cases / the longest.", func(f fared) string { return f.back.words() }},
	{"no recovery", "Faults after which clients asked for the lock, but no client got it before the trial ended, in all trials together. " +
		"The column before does not include them.", func(f fared) string {
		if f.back.n+f.never == 0 {
			return notSeen
		}
		return fmt.Sprintf("%d of %d", f.never, f.back.n+f.never)
	}},
	{"commands a grant", "What a grant costs Redis: the commands of its client, from the first attempt through renewals to the release. " +
		"The median of the trials' medians / the maximum of all grants.", func(f fared) string {
		if len(f.perGrant) == 0 {
			return notSeen
		}
		return fmt.Sprintf("%d / %d", plots.Median(f.perGrant), f.mostPerGrant)
	}},
	{"commands a second", "What a held lock costs Redis: the commands about it per second in which a client believed that it held the lock, including the commands of waiting clients. " +
		"The median of the trials / the maximum.", func(f fared) string {
		if len(f.whileHeld) == 0 {
			return notSeen
		}
		return fmt.Sprintf("%.0f / %.0f", plots.Median(f.whileHeld), slices.Max(f.whileHeld))
	}},
}

// ofWaits returns the median of the trials' wait figures as text.
func ofWaits(all []time.Duration) string {
	if len(all) == 0 {
		return notSeen
	}
	return about(plots.Median(all))
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
	cells := faredIn(slices.DeleteFunc(slices.Clone(trials), func(t trial.Result) bool { return t.Spec.Workload != in[t.Spec.Lock] }))
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
				row.Texts = append(row.Texts, m.words(*f))
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
func gist(cells map[plots.CellKey]*fared, recipe string, faults []string) string {
	var quiet, slowest, stuck string
	longest, never := time.Duration(0), 0
	for _, fault := range faults {
		f := cells[plots.CellKey{Lock: recipe, Fault: fault}]
		if f == nil {
			continue
		}
		if !f.Disturbed && len(f.medians) > 0 {
			quiet = "undisturbed: typical wait " + ofWaits(f.medians)
			if f.overrun > 0 {
				quiet += fmt.Sprintf(", where %.0f %% of the holds overrun the lease", 100*f.overrun)
			}
		}
		if f.back.most > longest {
			longest, slowest = f.back.most, fmt.Sprintf("slowest recovery: %s (%s)", about(f.back.most), fault)
		}
		never += f.never
	}
	if never > 0 {
		stuck = fmt.Sprintf("no recovery from %d %s", never, wording.Plural(never, "fault"))
	}
	return joinWords(" · ", quiet, slowest, stuck)
}

// joinWords joins the non-empty words.
func joinWords(with string, words ...string) string {
	var out string
	for _, w := range words {
		switch {
		case w == "":
		case out == "":
			out = w
		default:
			out += with + w
		}
	}
	return out
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
