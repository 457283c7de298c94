package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// unjudged lists the cells and trials that were not judged, with the reasons.
func unjudged(m campaign.Matrix, width int) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(wording.Fill(text, "  ", width) + "\n") }
	for _, c := range undecided(m) {
		line(openWords(c))
	}
	for _, v := range m.Varying {
		line(v.Words())
	}
	groups := []struct {
		verdict trial.Outcome
		title   string
	}{
		{trial.Unknown, "unknown"},
		{trial.NotExercised, "fault not exercised"},
		{trial.NotSupported, "not supported"},
	}
	for _, g := range groups {
		for _, r := range reasons(m, g.verdict) {
			line(g.title + ": " + r)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// reasons lists the cells with the verdict, grouped by fault and reason, such as "failover:
// exists-set, setnx (reason)".
func reasons(m campaign.Matrix, verdict trial.Outcome) []string {
	type reason struct{ fault, why string }
	all, faults := plots.CellAxes(m)
	groups := groupBy(slices.DeleteFunc(slices.Clone(m.Cells), func(c campaign.Cell) bool { return c.Verdict != verdict }), func(c campaign.Cell) reason {
		if verdict == trial.Unknown && c.Undecided > 0 {
			return reason{c.Fault, undecidedWords(c)}
		}
		return reason{c.Fault, cmp.Or(c.Lack.Words(), wording.FirstLine(c.Why))} // without the fault, which the line names already
	})
	slices.SortStableFunc(groups, func(a, b group[reason, campaign.Cell]) int {
		return slices.Index(faults, a.Key.fault) - slices.Index(faults, b.Key.fault)
	})
	return texts(groups, func(g group[reason, campaign.Cell]) string {
		who := "all recipes"
		if len(g.Items) < len(all) || len(all) == 1 {
			who = strings.Join(texts(g.Items, func(c campaign.Cell) string { return c.Lock }), ", ")
		}
		if g.Key.why == "" {
			return g.Key.fault + ": " + who
		}
		return g.Key.fault + ": " + who + " (" + g.Key.why + ")"
	})
}

// undecidedWords says how many of the cell's trials are undecided, and why.
func undecidedWords(c campaign.Cell) string {
	text := fmt.Sprintf("%d of %d %s undecided", c.Undecided, c.Trials, wording.Plural(c.Trials, "trial"))
	if why := wording.FirstLine(cmp.Or(c.UndecidedWhy, c.Why)); why != "" {
		text += ": " + why
	}
	return text
}

// undecided returns the cells that have a verdict although some of their trials are undecided.
func undecided(m campaign.Matrix) []campaign.Cell {
	return slices.DeleteFunc(slices.Clone(m.Cells), func(c campaign.Cell) bool { return c.Undecided == 0 || c.Verdict == trial.Unknown })
}

func openWords(c campaign.Cell) string {
	return fmt.Sprintf("%s under %s: %s", c.Lock, c.Fault, undecidedWords(c))
}
