package reports

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/nemesis"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

func newViewCell(c campaign.Cell) viewCell {
	v := viewCell{Class: plots.CellClass(c), Word: onPage(cellSymbol(c).Text), Title: plots.CellWords(c), ID: anchor(c.Lock, c.Fault), Replay: c.Replay, Sentence: judgedWords(c)}
	switch c.Verdict {
	case trial.Violated, trial.Blocked:
		v.Count = fmt.Sprintf("%d/%d", c.Shown, c.Exercised)
		v.Title += ": " + strings.Join(c.Causes, ", ")
		v.Anchor = anchor(c.Lock, c.Fault)
	case trial.Holds:
		v.Title += " (" + c.BoundWords() + ")"
	default:
		if c.Why != "" {
			v.Title += ": " + wording.FirstLine(c.Why)
		}
	}
	if c.Undecided > 0 && c.Verdict != trial.Unknown {
		v.Title += "; " + undecidedWords(c)
	}
	return v
}

// onPage returns a symbol of a terminal as pages show it.
func onPage(symbol string) string {
	return strings.ToLower(strings.Replace(symbol, "*", " bug", 1))
}

// judgedWords says in sentences what the trials of a cell without a violation showed.
func judgedWords(c campaign.Cell) string {
	text := ""
	switch c.Verdict {
	case trial.Holds:
		struck := " that the fault struck"
		if c.Fault == nemesis.Undisturbed().Name {
			struck = ""
		}
		text = fmt.Sprintf("None of %d %s%s showed a violation.", c.Exercised, wording.Plural(c.Exercised, "trial"), struck)
		if c.Enumerated > 0 {
			text += fmt.Sprintf(" %d of them were chosen beforehand, such as named schedules, each of which strikes at one certain place of the protocol.", c.Enumerated)
		}
		text += " " + c.BoundSentence() + " That is no proof."
		if covered := c.CoverageSentence(); covered != "" {
			text += " " + covered
		}
	case trial.NotExercised:
		text = fmt.Sprintf("In none of %d %s did the fault strike anything, so nothing was tested.", c.Trials, wording.Plural(c.Trials, "trial"))
	case trial.NotSupported:
		text = "This was not tested."
	case trial.Unknown:
		text = "The evidence does not decide. That counts neither for nor against the recipe."
	}
	if c.Why != "" && c.Verdict != trial.Holds {
		text += " " + wording.Sentence(wording.FirstLine(c.Why))
	}
	if c.Undecided > 0 && c.Verdict != trial.Unknown {
		text += " " + wording.Sentence(undecidedWords(c))
	}
	return text
}

func anchor(lock, fault string) string { return lock + "--" + fault }

// shareWords says how many of the decided trials showed the cell's verdict, and how the remaining
// trials ended.
func shareWords(c campaign.Cell) string {
	text := fmt.Sprintf("%d of %d %s", c.Shown, c.Exercised, wording.Plural(c.Exercised, "trial"))
	if n := c.Violations - c.Shown; n > 0 {
		text += fmt.Sprintf(" (%d more violated otherwise)", n)
	}
	if c.Unstruck > 0 {
		text += fmt.Sprintf("; of the %d violated %s, the fault hit nothing in %d", c.Violations, wording.Plural(c.Violations, "trial"), c.Unstruck)
	}
	if n := c.Trials - c.Exercised - c.Undecided; n > 0 {
		text += fmt.Sprintf("; in %d the fault hit nothing, and nothing was violated", n)
	}
	if c.Undecided > 0 {
		text += "; " + undecidedWords(c)
	}
	return text
}

func newCellDetail(c campaign.Cell, v viewCell, r result) cellDetail {
	d := cellDetail{
		Anchor: v.Anchor, Lock: c.Lock, Fault: c.Fault, Class: v.Class, Words: plots.CellWords(c),
		Share: shareWords(c), Dir: r.toldDir(c),
	}
	stored := func(what, verb string) {
		d.Stored = append(d.Stored, command{what, "lockstorm " + verb + " " + wording.Quote(path.Join(r.Matrix.Store, d.Dir))})
	}
	again := "run this trial again"
	switch d.Dir {
	case c.Dir:
	case c.Minimal:
		stored("run this minimal trial again", "replay")
		again = "run the original trial again, before shrinking"
	default:
		stored("run again this trial, which shows an undeclared violation", "replay")
		again = "run the trial again that shows the verdict"
	}
	d.Anywhere = []command{{again, c.Replay}}
	if d.Dir != "" {
		stored("judge the stored trial again", "check")
		d.detail = r.Details[d.Dir]
		d.Shrunk = r.shrunkWords(c, d.Dir)
	}
	d.Title = cmp.Or(d.Title, fmt.Sprintf("%s under %s", c.Lock, c.Fault))
	for _, f := range c.Flaws {
		d.Flaws = append(d.Flaws, flawView{f.Oracle, f.Cause, checker.Cause(f.Cause).Meaning(), cmp.Or(string(f.Kind), undeclaredKind)})
	}
	expected := func(f flawView) int {
		if f.Kind == undeclaredKind {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(d.Flaws, func(a, b flawView) int {
		return cmp.Or(expected(a)-expected(b), cmp.Compare(checker.OracleNamed(a.Oracle).Rank, checker.OracleNamed(b.Oracle).Rank))
	})
	return d
}

// toldDir returns the folder of the trial whose story a cell shows: a trial with an undeclared
// flaw if there is one, else the minimal trial if it shows the cell's headline, else c.Dir.
func (r result) toldDir(c campaign.Cell) string {
	if all := r.undeclaredIn(c); len(all) > 0 {
		return all[0].Dir
	}
	small, ok := r.Details[c.Minimal]
	if ok && c.Minimal != "" && (r.Details[c.Dir].Story.Empty() || slices.ContainsFunc(small.Flaws, headline(c).Same)) {
		return c.Minimal
	}
	return c.Dir
}

// headline returns the flaw behind a cell's verdict: of its kind, the one whose oracle has the most direct harm.
func headline(c campaign.Cell) (first trial.Flaw) {
	best := math.MaxInt
	for _, f := range c.Flaws {
		if rank := checker.OracleNamed(f.Oracle).Rank; f.Kind == c.Kind && rank < best {
			first, best = f, rank
		}
	}
	return first
}
