package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
)

// Answers writes in a few lines which locks of a campaign to use, with the answers of report.html.
// Recipes with the same answer share a line. It writes nothing for a shard. The error is w's.
func Answers(w io.Writer, c campaign.Stored, s Screen) error {
	if c.Matrix.Shard.Part() {
		return nil
	}
	rows, _ := answersOf(c)
	var b strings.Builder
	if m := c.Matrix; m.Interrupted {
		b.WriteString(wording.Fill(fmt.Sprintf("after %d of %d trials, which may all change:", m.Finished, m.Planned), "  ", s.Width) + "\n")
	}
	for _, line := range answerLines(rows) {
		b.WriteString(wording.Fill(line, "  ", s.Width) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// NotRun returns the recipes that the campaign's answers recommend as alternatives but that the
// campaign did not run. It leaves out alternatives without a condition (locks.Pick.If).
func NotRun(c campaign.Stored) (names []string) {
	rows, r := answersOf(c)
	return untried(r.takenPicks(rows))
}

// answersOf returns the answers of a campaign, best first.
func answersOf(c campaign.Stored) ([]adviceRow, result) {
	r := result{Info: c.Info, Matrix: c.Matrix, Trials: c.Trials, Glossary: registries()}
	recipes, faults := plots.CellAxes(r.Matrix)
	var rows []viewRow
	for _, recipe := range recipes {
		row, _ := r.row(recipe, faults)
		rows = append(rows, row)
	}
	return r.adviceRows(rows, faults), r
}

// answerLines groups the recipes by answer, best first. "Use only if" also groups by the first two
// conditions, and "do not use" by whether this campaign showed the deciding flaw.
func answerLines(rows []adviceRow) (lines []string) {
	type class struct {
		answer answer
		brief  string // advice.Brief
		first  string // the first two conditions
		unseen bool   // whether the deciding flaw is only declared: this run did not show it
	}
	more := func(x adviceRow) bool { return len(x.Advice.conditionList()) > 2 }
	for _, g := range groupBy(rows, func(x adviceRow) class {
		of := class{answer: x.Advice.Answer, brief: x.Advice.Brief()}
		of.unseen = of.answer == doNotUse && !x.Advice.Broken[0].Seen
		if conditions := x.Advice.conditionList(); of.answer == useOnlyIf {
			switch len(conditions) {
			case 0:
				of.first = undecidedCondition
			case 1:
				of.first = conditions[0].Text
			case 2:
				of.first = conditions[0].Text + ", and " + conditions[1].Text
			default:
				of.first = conditions[0].Text + ", " + conditions[1].Text
			}
		}
		return of
	}) {
		line := g.Key.brief
		switch {
		case g.Key.answer == useIt:
			line = "use, as far as these faults go"
		case g.Key.answer == useOnlyIf:
			line = "use only if " + g.Key.first
			if slices.ContainsFunc(g.Items, more) {
				line += ", and more (" + HTMLFile + ")"
			}
		case g.Key.unseen:
			line += ", for a declared flaw that this run did not show"
		}
		lines = append(lines, line+": "+strings.Join(texts(g.Items, func(x adviceRow) string { return x.Recipe }), ", "))
	}
	return lines
}
