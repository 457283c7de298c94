package reports

import (
	"fmt"
	"path"
	"strings"

	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/reports/internal/prose"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/trial"
)

// markdownReport returns a campaign's full report in GitHub's Markdown, without a limit of size.
func markdownReport(r result, drawn []plots.Plot) []byte {
	v := newView(r)
	v.Plots = drawn
	var b strings.Builder
	b.WriteString("# Lockstorm report\n\n")
	if v.Interrupted != "" {
		fmt.Fprintf(&b, "**%s**\n\n", prose.Sentence(v.Interrupted))
	}
	fmt.Fprintf(&b, "```\n%s\n```\n\n", v.Command)
	facts := append([]fact{{"seed", v.Seed}, {"testbed", v.Testbed}}, v.Setup...)
	if v.Started != "" {
		facts = append(facts, fact{"started", v.Started})
	}
	writeFacts(&b, append(facts, v.Versions...))
	fmt.Fprintf(&b, "%d trials, %d with a violation.", v.TrialCount, v.ViolationCount)
	if v.Stalls != "" {
		fmt.Fprintf(&b, " %s", prose.Sentence(v.Stalls))
	}
	if v.ShrunkCount != "" {
		fmt.Fprintf(&b, " Shrunk: %s.", prose.Escape(v.ShrunkCount))
	}
	b.WriteString("\n\n")
	markdownMatrix(&b, v)
	markdownDifferences(&b, v)
	markdownMissed(&b, v)
	markdownPlots(&b, v.Plots)
	markdownRenewals(&b, v.Renewals)
	markdownProgress(&b, v)
	markdownDetails(&b, v)
	markdownWords(&b, v)
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

func markdownPlots(b *strings.Builder, all []plots.Plot) {
	for _, p := range all {
		fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.Title, PlotsDir, p.File)
		if p.Data != "" {
			fmt.Fprintf(b, "Figures: [%s](%s/%s)\n\n", p.Data, PlotsDir, p.Data)
		}
	}
}

func writeFacts(b *strings.Builder, facts []fact) {
	for i, f := range facts {
		if i > 0 {
			b.WriteString(" · ")
		}
		b.WriteString(f.Label + " " + prose.Escape(f.Value))
	}
	b.WriteString("\n\n")
}

func markdownMatrix(b *strings.Builder, v view) {
	b.WriteString("## Matrix\n\nRecipes come in the order of their names.\n\n| recipe |")
	for _, f := range v.Faults {
		b.WriteString(" " + f.Name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(v.Faults)) + "\n")
	for _, row := range v.Rows {
		fmt.Fprintf(b, "| `%s` |", row.Recipe)
		for _, c := range row.Cells {
			text := c.Word
			switch c.Class {
			case "new", "bug", "block", "blockbug", "ttlbug":
				text = fmt.Sprintf("[**%s** %s](#%s)", strings.ToUpper(c.Word), c.Count, c.Anchor)
			case "limit", "ttl":
				text = fmt.Sprintf("[%s %s](#%s)", c.Word, c.Count, c.Anchor)
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for _, t := range v.Tally {
		fmt.Fprintf(b, "- %s: %d %s\n", t.Words, t.Count, wording.Plural(t.Count, "cell"))
	}
	b.WriteString("\n")
}

// markdownDifferences lists undeclared violations, flaws of programs, trials that did not replay,
// and cells or trials without a verdict.
func markdownDifferences(b *strings.Builder, v view) {
	if len(v.Unexpected) > 0 {
		b.WriteString("## Not declared\n\nViolations that their recipes do not declare:\n\n")
		for _, u := range v.Unexpected {
			fmt.Fprintf(b, "- `%s` under %s: %s by %s", u.Lock, u.Fault, u.Oracle, u.Cause)
			if u.Dir != "" {
				fmt.Fprintf(b, " ([trial](%s))", path.Join(u.Dir, CounterexampleFile))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	if len(v.Programs) > 0 {
		b.WriteString("## Flaws of programs\n\nNo lock is to blame for these: what the clients did under their locks is wrong.\n\n")
		for _, p := range v.Programs {
			fmt.Fprintf(b, "- %s: `%s`\n", prose.Escape(p.Words()), p.Replay)
			if p.Declared {
				fmt.Fprintf(b, "  %s (%s)\n", prose.Escape(p.Why), prose.Escape(p.Source))
			}
		}
		b.WriteString("\n")
	}
	if len(v.Varying) > 0 {
		b.WriteString("## Not replayable byte for byte\n\n")
		for _, x := range v.Varying {
			fmt.Fprintf(b, "- %s ([first](%s), [again](%s))\n", prose.Escape(x.Words()), path.Join(x.Dir, trial.HistoryFile), path.Join(x.Again, trial.HistoryFile))
		}
		b.WriteString("\n")
	}
	if len(v.Undecided) > 0 {
		fmt.Fprintf(b, "## Undecided trials\n\n%s\n\n", undecidedAdvice)
		for _, o := range v.Undecided {
			b.WriteString(o.markdown())
		}
		b.WriteString("\n")
	}
	lists := []struct {
		title string
		lines []string
	}{{"Unknown", v.Unknown}, {"Fault not exercised", v.NotExercised}, {"Not supported", v.NotSupported}}
	for _, l := range lists {
		if len(l.lines) == 0 {
			continue
		}
		fmt.Fprintf(b, "## %s\n\n", l.title)
		for _, line := range l.lines {
			fmt.Fprintf(b, "- %s\n", prose.Escape(line))
		}
		b.WriteString("\n")
	}
	if len(v.Failed) > 0 {
		b.WriteString("## Trials that the harness could not finish\n\n")
		for _, f := range v.Failed {
			fmt.Fprintf(b, "- %s: %s\n", f.Label, prose.Escape(f.Value))
		}
		b.WriteString("\n")
	}
}

func markdownDetails(b *strings.Builder, v view) {
	if len(v.Details) == 0 {
		return
	}
	b.WriteString("## Violations\n\n")
	for _, r := range v.Details {
		for _, c := range r.Cells {
			fmt.Fprintf(b, "<a id=\"%s\"></a>\n\n### %s: %s\n\n", c.Anchor, c.Title, c.Words)
			var flaws []string
			for _, f := range c.Flaws {
				flaws = append(flaws, fmt.Sprintf("%s by %s (%s)", f.Oracle, f.Cause, f.Kind))
			}
			fmt.Fprintf(b, "In %s: %s.\n\n", c.Share, strings.Join(flaws, ", "))
			if c.Shrunk != "" {
				fmt.Fprintf(b, "%s\n\n", prose.Escape(prose.Sentence(c.Shrunk)))
			}
			if c.Story.Note != "" {
				fmt.Fprintf(b, "%s [porcupine](%s)\n\n", prose.Escape(c.Story.Note), path.Join(c.Dir, PorcupineFile))
			}
			if !c.Story.Empty() {
				fmt.Fprintf(b, "%s> %s\n\n", c.Story.Markdown(), prose.Escape(c.Declared))
				fmt.Fprintf(b, "![Timeline](%s)\n\n[counterexample](%s) · [porcupine](%s)\n\n",
					path.Join(c.Dir, TimelineFile), path.Join(c.Dir, CounterexampleFile), path.Join(c.Dir, PorcupineFile))
			}
			b.WriteString("```sh\n")
			for _, x := range c.Commands {
				fmt.Fprintf(b, "# %s\n%s\n", x.What, x.Line)
			}
			b.WriteString("```\n\n")
		}
	}
}

// markdownProgress writes a collapsed table of progress for each recipe.
func markdownProgress(b *strings.Builder, v view) {
	if len(v.Progress) == 0 {
		return
	}
	b.WriteString("## How the clients fared\n\nThese figures are no verdicts. " +
		"The faults struck at the worst known points of the protocol, and the clients asked again and again: " +
		"the figures compare recipes and faults, they do not predict how long clients of a real service wait. " +
		"The figures of a recipe come from one workload, which is named next to the recipe: of its workloads, the one that most recipes of this run share. " +
		"Recipes compare where the workload is the same.\n\n")
	for _, t := range v.Progress {
		fmt.Fprintf(b, "<details><summary>%s</summary>\n\n| fault |", "<b>"+t.Recipe+"</b> "+joinWords(" · ", t.Workload, prose.Escape(t.Gist)))
		for _, m := range v.Measures {
			b.WriteString(" " + m.Name + " |")
		}
		b.WriteString("\n|---|" + strings.Repeat("--:|", len(v.Measures)) + "\n")
		for _, row := range t.Rows {
			fmt.Fprintf(b, "| %s | %s |\n", row.Fault, strings.ReplaceAll(strings.Join(row.Texts, " | "), "<", "&lt;"))
		}
		b.WriteString("\n</details>\n\n")
	}
	b.WriteString("<details><summary>What the columns say</summary>\n\n| column | meaning |\n|---|---|\n")
	for _, m := range v.Measures {
		fmt.Fprintf(b, "| %s | %s |\n", m.Name, prose.Cell(m.Meaning))
	}
	b.WriteString("\n</details>\n\n")
}

func markdownMissed(b *strings.Builder, v view) {
	if len(v.Missed) == 0 {
		return
	}
	b.WriteString("## Declared, not found\n\n")
	for _, m := range v.Missed {
		fmt.Fprintf(b, "- `%s`: %s\n", m.Recipe, strings.Join(m.Flaws, "; "))
	}
	b.WriteString("\n")
}

func markdownWords(b *strings.Builder, v view) {
	b.WriteString("## What the words mean\n\n| verdict | meaning |\n|---|---|\n")
	for _, w := range v.Words {
		fmt.Fprintf(b, "| %s | %s |\n", w.Word, prose.Cell(w.Meaning))
	}
	b.WriteString("\n| fault | what it does |\n|---|---|\n")
	for _, f := range v.Faults {
		fmt.Fprintf(b, "| %s | %s |\n", f.Name, prose.Cell(f.Doc))
	}
	b.WriteString("\n")
}
