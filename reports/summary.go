package reports

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/plots"
)

// SummarySize is the maximum size of report.md in bytes, for any campaign. GitHub accepts 65,536
// characters in a comment on a pull request.
const SummarySize = 60_000

// Maximum sizes of the parts of report.md, in bytes.
const (
	mostAnswers = 14_000 // the section "Which lock to use"
	mostMatrix  = 16_000
	mostList    = 2_500 // each list of summaryLists
	mostFact    = 1_000
	mostPath    = 200
	mostLine    = 2_000 // the campaign's command line
)

// summaryReport returns a campaign's report in GitHub's Markdown, in at most SummarySize bytes:
// recipes best first, flaws worst first. It names what it leaves out.
func summaryReport(r result) []byte {
	v := newView(r, nil)
	head := summaryHead(v)
	sections := append([]boundedSection{summaryAnswers(v), summaryMatrix(v), r.undeclaredSection(v)}, summaryLists(v)...)
	sections = append(sections, flawSection(r.worstFlaws(v.worst)))
	tail := fmt.Sprintf("\nEvery story, with its timeline: [%s](%s).\n", HTMLFile, HTMLFile)
	return []byte(head + boundedPage(SummarySize-len(head)-len(tail), sections) + tail)
}

// storeOf returns the campaign's directory, quoted for a shell; "DIR" if it is very long or
// unknown.
func storeOf(v view) string {
	if name := wording.Quote(v.Store); v.Store != "" && len(name) <= mostPath {
		return name
	}
	return "DIR"
}

// clip cuts a text that is too long. The result has at most the given number of bytes; after a
// cut it ends with a mark.
func clip(s string, most int) string {
	const cut = " … (cut)"
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len(cut)], "") + cut
}

func summaryHead(v view) string {
	var b strings.Builder
	b.WriteString("# Lockstorm report\n\n")
	if v.Interrupted != "" {
		fmt.Fprintf(&b, "**%s**\n\n", wording.Sentence(v.Interrupted))
	}
	fmt.Fprintf(&b, "```\n%s\n```\n\n", clip(v.Command, mostLine))
	for _, f := range v.Tested {
		fmt.Fprintf(&b, "- %s: %s\n", f.Label, clip(wording.Escape(f.Value), mostFact))
	}
	b.WriteString("\nCells by verdict:\n\n")
	for _, t := range v.Tally {
		fmt.Fprintf(&b, "- %s: %d %s\n", t.Words, t.Count, wording.Plural(t.Count, "cell"))
	}
	b.WriteString("\n")
	return b.String()
}

// summaryAnswers says for each recipe whether to use it, best first.
func summaryAnswers(v view) boundedSection {
	s := boundedSection{Head: "## Which lock to use\n\n", Most: mostAnswers, Rest: func(n int) string {
		return fmt.Sprintf("- %d more %s: [%s](%s#answers)\n\n", n, wording.Plural(n, "recipe"), HTMLFile, HTMLFile)
	}}
	for i, row := range v.Answers {
		text := fmt.Sprintf("- `%s`: **%s** %s\n", row.Recipe, row.Advice.Label(), row.Advice.Words())
		if i == len(v.Answers)-1 {
			text += v.untriedWords() + "\n"
		}
		s.Items = append(s.Items, boundedItem{Whole: text})
	}
	return s
}

// untriedWords names those of TakenIf that the campaign did not run; "" if there are none.
func (v view) untriedWords() string {
	absent := untried(v.TakenIf)
	if len(absent) == 0 {
		return ""
	}
	return "\nNot in this run: `" + strings.Join(absent, "`, `") + "`.\n"
}

// summaryMatrix returns the matrix without links, in the order of the answers.
func summaryMatrix(v view) boundedSection {
	s := boundedSection{Head: "## Matrix\n\nRecipes come best first, in the order of the answers above.\n\n| recipe |", Most: mostMatrix, Rest: func(n int) string {
		return fmt.Sprintf("\n%d more %s: [%s](%s#matrix).\n\n", n, wording.Plural(n, "recipe"), HTMLFile, HTMLFile)
	}}
	for _, f := range v.Faults {
		s.Head += " " + f.Name + " |"
	}
	s.Head += "\n|---|" + strings.Repeat(":-:|", len(v.Faults)) + "\n"
	if len(s.Head) > mostMatrix/2 { // the columns' heads leave too little room for rows
		s.Head = fmt.Sprintf("## Matrix\n\nThe matrix has %d columns, too many for this page.\n", len(v.Faults))
		s.Rest = func(int) string { return fmt.Sprintf("It is in [%s](%s#matrix).\n\n", HTMLFile, HTMLFile) }
		s.Items, s.Most = []boundedItem{{Whole: strings.Repeat(" ", mostMatrix)}}, 1
		return s
	}
	for i, row := range v.Rows {
		text := fmt.Sprintf("| `%s` |", row.Recipe)
		for _, c := range row.Cells {
			switch c.Class {
			case "new", "bug", "block", "blockbug", "ttlbug":
				text += fmt.Sprintf(" **%s** %s |", strings.ToUpper(c.Word), c.Count)
			default:
				text += strings.TrimRight(" "+c.Word+" "+c.Count, " ") + " |"
			}
		}
		text += "\n"
		if i == len(v.Rows)-1 {
			text += "\n"
		}
		s.Items = append(s.Items, boundedItem{Whole: text})
	}
	return s
}

// worstFirst returns the recipes by their worst verdict, then by how many cells have that verdict.
func worstFirst(rows []viewRow) (recipes []string) {
	profile := map[string][]int{}
	for _, row := range rows {
		counts := make([]int, len(plots.Verdicts))
		for _, c := range row.Cells {
			if c.Class != "" {
				counts[plots.RankOf(c.Class)]--
			}
		}
		recipes, profile[row.Recipe] = append(recipes, row.Recipe), counts
	}
	slices.SortStableFunc(recipes, func(a, b string) int { return slices.Compare(profile[a], profile[b]) })
	return recipes
}

// undeclaredSection lists the undeclared violations, with their stories as far as there is room.
// Violations without room are counted, and the text names the command that lists them all.
func (r result) undeclaredSection(v view) boundedSection {
	s := boundedSection{
		Head: "## Not declared\n\nViolations that their recipes do not declare:\n\n",
		Rest: func(n int) string {
			return fmt.Sprintf("\n**%d more %s not declared: `lockstorm report %s` lists all %d.**\n\n", n, isOrAre(n), storeOf(v), len(r.Matrix.Unexpected))
		},
	}
	shown := r.shown()
	for _, u := range r.Matrix.Unexpected {
		replay := ""
		if i := slices.IndexFunc(shown, func(x campaign.ShownFlaw) bool {
			return x.Lock == u.Lock && x.Fault == u.Fault && x.Oracle == u.Oracle && x.Cause == u.Cause
		}); i >= 0 {
			replay = shown[i].Replay
		}
		line := fmt.Sprintf("- **`%s` under %s: %s by %s**", u.Lock, u.Fault, u.Oracle, u.Cause)
		if replay != "" {
			line += ": " + inCode(replay)
		}
		if u.Dir != "" {
			line += fmt.Sprintf(" ([counterexample](%s))", path.Join(u.Dir, CounterexampleFile))
		}
		line += "\n"
		x := boundedItem{Whole: line, Short: line}
		if d, ok := r.storyOfUndeclared(u); ok {
			x.Whole += "\n" + indented(d.Story.Markdown()) + "\n"
		}
		s.Items = append(s.Items, x)
	}
	if n := len(s.Items); n > 0 {
		s.Items[n-1].Whole += "\n"
		s.Items[n-1].Short += "\n"
	}
	return s
}

// storyOfUndeclared returns the story that tells the undeclared flaw u.
func (r result) storyOfUndeclared(u campaign.Discrepancy) (detail, bool) {
	c, ok := plots.CellOf(r.Matrix, u.Lock, u.Fault)
	if !ok {
		return detail{}, false
	}
	for _, x := range r.undeclaredIn(c) {
		if x.Oracle == u.Oracle && x.Cause == u.Cause && !x.Detail.Story.Empty() {
			return x.Detail, true
		}
	}
	return detail{}, false
}

// lineStart matches the beginning of a line that is not empty.
var lineStart = regexp.MustCompile(`(?m)^.`)

// indented indents a text so that it belongs to a list item.
func indented(text string) string {
	return lineStart.ReplaceAllString(strings.TrimRight(text, "\n"), "  $0") + "\n"
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// inCode returns a text as code in Markdown.
func inCode(s string) string {
	if strings.Contains(s, "`") {
		return "`` " + s + " ``"
	}
	return "`" + s + "`"
}

// summaryLists returns the lists of deviations from declarations, and of cells and trials that
// were not judged.
func summaryLists(v view) []boundedSection {
	var out []boundedSection
	list := func(title string, lines []string) {
		s := boundedSection{Head: "## " + title + "\n\n", Most: mostList, Rest: func(n int) string {
			return fmt.Sprintf("- %d more: [%s](%s)\n\n", n, HTMLFile, HTMLFile)
		}}
		for i, line := range lines {
			text := "- " + line + "\n"
			if i == len(lines)-1 {
				text += "\n"
			}
			s.Items = append(s.Items, boundedItem{Whole: text})
		}
		out = append(out, s)
	}
	programs := texts(v.Programs, func(p campaign.ProgramFlaw) string { return wording.Escape(p.Words()) + ": " + inCode(p.Replay) })
	missing := texts(v.Missed, func(m declaredFlaws) string { return fmt.Sprintf("`%s`: %s", m.Recipe, strings.Join(m.Flaws, "; ")) })
	varying := texts(v.Varying, func(x campaign.Varying) string { return wording.Escape(x.Words()) })
	undecided := texts(v.Undecided, func(o openCell) string {
		if len(o.Commands) == 0 {
			return wording.Escape(o.Text)
		}
		return wording.Escape(o.Text) + ": " + inCode(o.Commands[0].Line)
	})
	failed := texts(v.Failed, func(f fact) string { return f.Label + ": " + wording.Escape(f.Value) })
	list("Trials that the harness could not finish", failed)
	list("Not replayable byte for byte", varying)
	list("Flaws of programs", programs)
	list("Declared, not found", missing)
	list("Undecided trials", undecided)
	list("Unknown", texts(v.Unknown, wording.Escape))
	list("Fault not exercised", texts(v.NotExercised, wording.Escape))
	list("Not supported", texts(v.NotSupported, wording.Escape))
	return out
}
