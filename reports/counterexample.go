package reports

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lockstorm/lockstorm/campaign"
	"github.com/lockstorm/lockstorm/checker"
	"github.com/lockstorm/lockstorm/internal/packed"
	"github.com/lockstorm/lockstorm/internal/wording"
	"github.com/lockstorm/lockstorm/locks"
	"github.com/lockstorm/lockstorm/reports/plots"
	"github.com/lockstorm/lockstorm/reports/story"
	"github.com/lockstorm/lockstorm/trial"
	"github.com/lockstorm/lockstorm/workloads"
)

// counterexample describes a violated trial in Markdown: the story; the verdicts; the operations
// and commands that matter, in order; and commands for a closer look. folder is the trial's folder
// as command lines name it. origin says how the trial came about; "" = unknown. kept is what the
// folder has; for a picture that it lacks, the text has the command that draws it. If the folder
// has a minimal trial, the text leaves out the story, the verdicts, and the operations and commands:
// they are on the minimal trial's page.
func (g glossary) counterexample(t trial.Result, f story.Focus, folder, origin string, kept keptFiles) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n", trialTitle(t), trialWords(t))
	if some := undeclaredFlaws(t.Flaws); len(some) > 0 && t.Kind != "" { // the title does not tell this
		fmt.Fprintf(&b, "**Not declared: %s.**\n\n", strings.Join(some, ", "))
	}
	if origin != "" {
		fmt.Fprintf(&b, "%s\n\n", wording.Sentence(origin))
	}
	if kept.Minimal && kept.Timeline {
		fmt.Fprintf(&b, "![Timeline](%s)\n\n", TimelineFile)
	}
	if !kept.Minimal {
		g.writeStory(&b, t, f, folder, kept)
		b.WriteString("## Verdicts\n\n| oracle | result | cause | found |\n|---|---|---|---|\n")
		for _, v := range t.Verdicts {
			verdictRows(&b, t, v)
		}
		writeLog(&b, f, folder)
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "## Look again\n\n```\nlockstorm replay %s\nlockstorm check %s\n```\n\n", wording.Quote(folder), wording.Quote(folder))
	history := storedAs(folder, trial.HistoryFile)
	fmt.Fprintf(&b, "Seed %d, %s of %s with %s on testbed %s (%s); %d operations, %d commands. The whole history is in [%s](%s)",
		t.Spec.Seed, t.Spec.Title(), t.Spec.Lock, t.Spec.Workload, t.Spec.Testbed, t.Spec.Topology, t.Ops, t.Commands,
		history, history)
	if kept.Porcupine {
		fmt.Fprintf(&b, ", porcupine's picture of it in [%s](%s).\n", PorcupineFile, PorcupineFile)
	} else {
		fmt.Fprintf(&b, "; `%s` writes porcupine's picture of it.\n", drawing(folder, PorcupineFile))
	}
	return []byte(b.String())
}

// writeStory writes the story of the finding, the declaration of the flaw, and the timeline or the
// command that draws it.
func (g glossary) writeStory(b *strings.Builder, t trial.Result, f story.Focus, folder string, kept keptFiles) {
	b.WriteString(story.Tell(f).Markdown())
	if text := g.declaredWords(t, f.Finding); text != "" {
		fmt.Fprintf(b, "> %s\n\n", wording.Escape(text))
	}
	if kept.Timeline {
		fmt.Fprintf(b, "![Timeline](%s)\n\n", TimelineFile)
	} else {
		fmt.Fprintf(b, "The timeline: `%s`.\n\n", drawing(folder, TimelineFile))
	}
}

// writeLog writes the operations and commands that matter, in order.
func writeLog(b *strings.Builder, f story.Focus, folder string) {
	b.WriteString("\n## In order\n\n" + story.Ordered + "\n\n| seconds | who | what |\n|---:|---|---|\n")
	entries, more := story.Log(f)
	for _, x := range entries {
		fmt.Fprintf(b, "| %s | %s | %s |\n", wording.Stamp(x.At), x.Who, wording.Cell(x.What))
	}
	if more > 0 {
		fmt.Fprintf(b, "\n%d more in %s and %s.\n", more, storedAs(folder, trial.HistoryFile), storedAs(folder, trial.CommandsFile))
	}
}

// drawing returns the command that draws the named picture from a trial's folder.
func drawing(folder, picture string) string {
	return fmt.Sprintf("lockstorm check %s --timeline %s", wording.Quote(folder), picture)
}

// storedAs returns the file name under which a trial's folder has the file, compressed or not.
func storedAs(folder, name string) string {
	return filepath.Base(packed.Find(filepath.Join(folder, name)))
}

// trialTitle names a trial: its lock, its fault, and its schedule if it has a named schedule.
func trialTitle(t trial.Result) string {
	title := fmt.Sprintf("%s under %s", t.Spec.Lock, t.Spec.Fault)
	if t.Spec.Schedule != "" {
		title += ", " + t.Spec.Title()
	}
	return title
}

func verdictRows(b *strings.Builder, t trial.Result, v checker.Verdict) {
	if len(v.Findings) == 0 {
		fmt.Fprintf(b, "| %s | %s | | %s |\n", v.Oracle, v.Result, wording.Cell(v.Why))
		return
	}
	shown, more := Listed(t, v)
	for _, x := range shown {
		cause := string(x.Cause)
		if !Declared(t, v.Oracle, x.Cause) {
			cause += " (not declared)"
		}
		fmt.Fprintf(b, "| %s | **%s** | %s | %s |\n", v.Oracle, v.Result, cause, wording.Cell(wording.Sentence(cmp.Or(story.Words.Summary(x), "no details"))))
	}
	if more > 0 {
		fmt.Fprintf(b, "| | | | and %d more |\n", more)
	}
}

// trialWords describes a trial's outcome in the words of a cell, and names the flaws of the
// clients' program.
func trialWords(t trial.Result) string {
	c := campaign.Cell{Verdict: t.Outcome, Kind: t.Kind, Exercised: 1, Trials: 1}
	for _, f := range t.Flaws {
		c.Forever = c.Forever || f.Forever
	}
	words := plots.CellWords(c)
	for i, f := range t.OfProgram() {
		joint := "; the clients' program: "
		if i > 0 {
			joint = ", "
		}
		words += joint + f.Oracle + " by " + f.Cause
	}
	return words
}

// declaredWords says whether the finding is declared, and if so, why the flaw exists. The recipe
// declares flaws of the lock; the workload declares flaws of the clients' program.
func (g glossary) declaredWords(t trial.Result, f story.Finding) string {
	if f.OfProgram() {
		body, _ := workloads.ByName(t.Spec.Workload)
		flaw, declared := body.Declares(f.Oracle, string(f.Cause))
		if !declared {
			return "That is a flaw of the clients' program, which its workload does not declare."
		}
		return "That is a flaw of the clients' program. " + wording.Sentence(flaw.Why) + " (" + flaw.Source + ")"
	}
	if f.Kind == "" {
		return fmt.Sprintf("The recipe declares no flaw that reads %q by %q: this was not expected.", f.Oracle, f.Cause)
	}
	what := "a bug: it breaks a promise that its document makes, or one that its own commands could have kept."
	if f.Kind == locks.Limit {
		what = "a limit: no lease on this topology can prevent it by itself."
	}
	text := "For this recipe that is " + what
	if flaw, ok := g.declared(t, f); ok {
		text += " " + wording.Sentence(flaw.Why)
		if flaw.Source != "" {
			text += " (" + flaw.Source + ")"
		}
	}
	return text
}
