package reports

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
)

// result is the input of the campaign's pages.
type result struct {
	Info   campaign.Info
	Matrix campaign.Matrix
	Trials []trial.Result
	// Details holds the violated trials that the pages show, by trial.Result.Dir.
	Details  map[string]detail
	Latency  []plots.Latency
	Glossary glossary
}

// detail is a page's content about one violated trial.
type detail struct {
	Story    story.Story
	Declared string
	Drawn    string // the timeline, as SVG
	Title    string
	// Told is the flaw that the story is about.
	Told  trial.Flaw
	Flaws []trial.Flaw // all flaws of the trial
	// Shrunk says how the trial came about (see origin); "" if that is unknown. NotShrunk says why
	// shrinking was planned but not done.
	Shrunk, NotShrunk string
	// Log has the commands and operations around the violation. MoreLog counts earlier ones that
	// it leaves out.
	Log     []story.LogLine
	MoreLog int
	Kept    keptFiles
}

// keptFiles says which of TimelineFile, PorcupineFile and trial.MinimalFolder are in a
// trial's folder.
type keptFiles struct{ Timeline, Porcupine, Minimal bool }

// view is the content of report.html and report.md. Rows and Details stand in the order of the answers, best first.
type view struct {
	Command, Store string
	Project        string // the program's project and version
	Interrupted    string // see func interrupted; "" = finished and undivided
	Expect         bool
	Answers        []adviceRow
	Alike          []group[sameAnswer, adviceRow] // the grouped answers, for print
	TakenIf        []takenPick
	Tested         []fact
	Tally          []tally
	Faults         []nemesis.Fault
	Rows           []viewRow
	worst          []string // the recipes by their verdicts, worst first
	Words          []plots.Verdict
	Oracles        []checker.Oracle
	Details        []recipeDetails
	Unexpected     []campaign.Discrepancy
	Missed         []declaredFlaws
	Failed         []fact
	Undecided      []openCell
	Varying        []campaign.Varying
	Programs       []campaign.ProgramFlaw
	Plots          []plots.Plot
	NotDrawn       []plots.Missing
	// Unknown, NotExercised and NotSupported list cells with these verdicts (see reasons).
	Unknown, NotExercised, NotSupported []string
	// Progress has a table of the clients' progress for each recipe; Measures explains its
	// columns.
	Progress []progressTable
	Measures []measured
	Renewals renewalTable
}

// fact is one line of a page: a label and its value.
type fact struct{ Label, Value string }

// tally counts the cells of one verdict.
type tally struct {
	Class, Words string
	Short        string // the verdict's word in the matrix
	Count        int
}

type viewRow struct {
	Recipe, Document, Summary string
	Answer                    advice
	Cells                     []viewCell
}

// viewCell is one cell of the matrix; Class is "" if the matrix lacks the cell.
type viewCell struct {
	Class, Word, Count, Title, Anchor string
	// ID identifies the cell in the page. Sentence says what the trials of a cell without a
	// violation showed. Replay is the command that runs one of the cell's trials again.
	ID, Sentence, Replay string
}

// declaredFlaws are one recipe's declared flaws that no trial showed.
type declaredFlaws struct {
	Recipe string
	Flaws  []string
}

// recipeDetails are the violated cells of one recipe.
type recipeDetails struct {
	Recipe, Document, Summary string
	Cells                     []cellDetail
}

// cellDetail is what a page shows about one violated cell, and about the trial in the folder Dir.
type cellDetail struct {
	detail
	Anchor, Lock, Fault, Class, Words string
	Flaws                             []flawView // of the cell
	Share                             string     // "3 of 5 trials"
	Dir                               string
	Anywhere, Stored                  []command // to run or judge the trial again: without the store, and with it
	Remedies                          []sharedText
	// Number is the index of the story and the timeline in the page's data, if Told. Plain is a
	// story that stands in the page itself. PlainDrawn is its timeline, if the page has room; PlainStored is the part
	// of that story that needs the campaign's folder.
	Number                         int
	Plain, PlainDrawn, PlainStored template.HTML
}

// Told reports whether the cell has a story, or a note instead.
func (c cellDetail) Told() bool { return !c.Story.Empty() || c.Story.Note != "" }

// Undeclared reports whether the cell shows a flaw that its recipe does not declare.
func (c cellDetail) Undeclared() bool {
	return slices.ContainsFunc(c.Flaws, func(f flawView) bool { return f.Kind == undeclaredKind })
}

// causeView is one cause of a cell's violations, and the oracles that found it.
type causeView struct{ Cause, Title, Kind, Oracles string }

// Causes returns the flaws grouped by cause and kind, in the order of Flaws.
func (c cellDetail) Causes() []causeView {
	groups := groupBy(c.Flaws, func(f flawView) causeView { return causeView{Cause: f.Cause, Title: f.Title, Kind: f.Kind} })
	var out []causeView
	for _, g := range groups {
		g.Key.Oracles = strings.Join(texts(g.Items, func(f flawView) string { return f.Oracle }), ", ")
		out = append(out, g.Key)
	}
	return out
}

// undeclaredKind is the word for the kind of an undeclared flaw.
const undeclaredKind = "undeclared"

// command is a shell command and its purpose.
type command struct{ What, Line string }

// flawView is one flaw of a cell, as a page shows it.
type flawView struct {
	Oracle, Cause, Title, Kind string
}

func newView(r result, drawn []plots.Plot) view {
	recipes, faults := plots.CellAxes(r.Matrix)
	v := view{
		Command: r.Matrix.Command, Store: r.Matrix.Store, Project: projectWords(r.Info.Versions),
		Interrupted: interrupted(r.Matrix), Expect: r.Info.Config.Expect, Tested: r.tested(),
		Unexpected: r.Matrix.Unexpected, Programs: r.Matrix.Programs, Missed: missed(r.Matrix.Missed),
		Undecided:    r.openCells(),
		Varying:      r.Matrix.Varying,
		Unknown:      reasons(r.Matrix, trial.Unknown),
		NotExercised: reasons(r.Matrix, trial.NotExercised),
		NotSupported: reasons(r.Matrix, trial.NotSupported),
		Oracles:      r.Glossary.Oracles,
		Failed:       failures(r.Matrix.Failed),
		Progress:     progressTables(recipes, faults, r.Trials), Measures: measures,
		Renewals: r.renewals(recipes),
		Plots:    drawn, NotDrawn: plots.NotDrawn(drawn),
	}
	for _, f := range faults {
		v.Faults = append(v.Faults, r.Glossary.fault(f))
	}
	v.arrange(r, recipes, faults)
	return v
}

// arrange fills in the answers, the rows of the matrix, the details of violated cells by recipe, and
// the tally of verdicts with their meanings.
func (v *view) arrange(r result, recipes, faults []string) {
	used := map[string]int{}
	for _, recipe := range recipes {
		row, details := r.row(recipe, faults)
		for _, c := range row.Cells {
			used[c.Class]++
		}
		v.Rows = append(v.Rows, row)
		if len(details.Cells) > 0 {
			v.Details = append(v.Details, details)
		}
	}
	for _, w := range plots.Verdicts {
		if n := used[w.Class]; n > 0 {
			v.Words = append(v.Words, w)
			short := onPage(w.Symbol)
			if w.Class == "holds" {
				short += "n"
			}
			v.Tally = append(v.Tally, tally{w.Class, w.Words, short, n})
		}
	}
	v.worst = worstFirst(v.Rows)
	v.Answers = r.adviceRows(v.Rows, faults)
	v.Alike, v.TakenIf = alikeRows(v.Answers), r.takenPicks(v.Answers)
	place := map[string]int{}
	for i, a := range v.Answers {
		place[a.Recipe] = i
	}
	slices.SortStableFunc(v.Rows, func(a, b viewRow) int { return place[a.Recipe] - place[b.Recipe] })
	slices.SortStableFunc(v.Details, func(a, b recipeDetails) int { return place[a.Recipe] - place[b.Recipe] })
	for i := range v.Rows {
		v.Rows[i].Answer = v.Answers[i].Advice
	}
}

// row returns a recipe's row of the matrix, and the details of its violated cells.
func (r result) row(recipe string, faults []string) (viewRow, recipeDetails) {
	row := viewRow{Recipe: recipe}
	if known, ok := r.Glossary.recipe(recipe); ok {
		row.Document, row.Summary = known.Document, known.Summary
	}
	details := recipeDetails{Recipe: row.Recipe, Document: row.Document, Summary: row.Summary}
	for _, fault := range faults {
		c, ok := plots.CellOf(r.Matrix, recipe, fault)
		if !ok {
			row.Cells = append(row.Cells, viewCell{})
			continue
		}
		cell := newViewCell(c)
		row.Cells = append(row.Cells, cell)
		if cell.Anchor != "" {
			details.Cells = append(details.Cells, newCellDetail(c, cell, r))
		}
	}
	return row, details
}

// interrupted says how far an interrupted campaign came, or which shard of a campaign this is; ""
// for a finished, undivided campaign.
func interrupted(m campaign.Matrix) string {
	var parts []string
	if m.Shard.Part() {
		parts = append(parts, fmt.Sprintf("shard %s: one part of a campaign's trials", m.Shard))
	}
	if m.Interrupted {
		parts = append(parts, fmt.Sprintf("interrupted: %d of %d planned trials", m.Finished, m.Planned))
	}
	return strings.Join(parts, "; ")
}

// failures names the trials that the harness could not finish, each with the error.
func failures(trials []trial.Result) []fact {
	var out []fact
	for _, t := range trials {
		out = append(out, fact{fmt.Sprintf("%s under %s, %s, %s", t.Spec.Lock, t.Spec.Fault, t.Spec.Workload, t.Spec.Title()), wording.FirstLine(t.Err)})
	}
	return out
}

// missed groups the declared flaws that were not found, by recipe.
func missed(all []campaign.Discrepancy) (out []declaredFlaws) {
	for _, g := range groupBy(all, func(m campaign.Discrepancy) string { return m.Lock }) {
		out = append(out, declaredFlaws{g.Key, texts(g.Items, func(m campaign.Discrepancy) string {
			text := fmt.Sprintf("%s by %s (under %s)", m.Oracle, m.Cause, strings.ReplaceAll(m.Fault, ",", ", "))
			if m.Hidden {
				text += ", undecided: " + campaign.Hiding
			}
			return text
		})})
	}
	return out
}
